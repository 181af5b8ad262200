"""Pure composition of provider-ready prompts from a thread's history."""
