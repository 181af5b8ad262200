"""The command line: serving, chatting and looking, all through the public HTTP and WebSocket API."""
