"""An image of one pixel, and the first bytes of others."""

import base64

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
BASE64 = base64.b64encode(PNG).decode()
JPEG = b"\xff\xd8\xff\xe0rest"
WEBP = b"RIFF\0\0\0\0WEBPVP8 rest"
