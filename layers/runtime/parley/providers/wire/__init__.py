"""Wire formats, one pure module each: what a request looks like, what a reply means. No I/O."""
