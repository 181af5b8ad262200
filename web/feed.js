// One thread's events, each once and in order. Frames may come twice, late, or not at all: `seq` tells, and the
// REST log fills what is missing. Without a WebSocket everything comes from the log.

const RECONNECT = 2000;
const SILENCE = 10000;

export class Feed {
  constructor(api, { onEvent, onState, onFailure }) {
    this.api = api;
    this.onEvent = onEvent;
    this.onState = onState;
    this.onFailure = onFailure;
    this.thread = null;
    this.last = 0;
    this.early = new Map();
    this.reading = null;
    this.again = false;
    this.closed = false;
    this.connect();
    this.timer = setInterval(() => this.tick(), SILENCE);
  }

  // From now on this thread's events, those after `after`.
  follow(thread, after = 0) {
    this.thread = thread;
    this.last = after;
    this.early.clear();
    if (thread !== null) this.catchUp();
  }

  close() {
    this.closed = true;
    clearInterval(this.timer);
    this.socket?.close();
  }

  async connect() {
    if (this.closed) return;
    this.onState("connecting");
    try {
      const { ticket, url } = await this.api.ticket();
      const base = url ?? `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/ws`;
      const socket = new WebSocket(`${base}?ticket=${encodeURIComponent(ticket)}`);
      this.socket = socket;
      socket.onopen = () =>
        socket.send(
          JSON.stringify({ action: "subscribe", channel: `App.Chat.${this.api.user}.${this.api.project}` }),
        );
      socket.onmessage = (message) => this.receive(message.data);
      socket.onclose = () => this.lost();
    } catch (error) {
      if (error.status === 401) this.onFailure(error);
      else this.lost();
    }
  }

  lost() {
    if (this.closed) return;
    this.live = false;
    this.onState("offline");
    setTimeout(() => this.connect(), RECONNECT);
  }

  receive(text) {
    const frame = JSON.parse(text);
    if (frame.event === "Subscribed") {
      this.live = true;
      this.onState("live");
      this.catchUp();
      return;
    }
    if (frame.seq === undefined || frame.thread_id !== this.thread || frame.seq <= this.last) return;
    if (frame.data && "$ref" in frame.data) {
      this.catchUp();
      return;
    }
    this.early.set(frame.seq, frame);
    this.release();
    if (this.early.size > 0) this.catchUp();
  }

  release() {
    for (let event; (event = this.early.get(this.last + 1)) !== undefined; ) {
      this.early.delete(event.seq);
      this.last = event.seq;
      this.onEvent(event);
    }
  }

  // Read the log from where we are. One reader at a time; a call meanwhile makes it look once more.
  async catchUp() {
    if (this.reading) {
      this.again = true;
      return;
    }
    this.reading = true;
    try {
      do {
        this.again = false;
        await this.readLog();
      } while (this.again);
    } catch (error) {
      if (error.status !== 0) this.onFailure(error);
    } finally {
      this.reading = false;
    }
  }

  async readLog() {
    for (;;) {
      const thread = this.thread;
      if (thread === null) return;
      const { events } = await this.api.events(thread, this.last);
      if (thread !== this.thread) {
        this.again = true;
        return;
      }
      for (const event of events) {
        if (event.seq === this.last + 1) {
          this.last = event.seq;
          this.onEvent(event);
        }
      }
      for (const seq of [...this.early.keys()]) if (seq <= this.last) this.early.delete(seq);
      this.release();
      if (events.length < 500) return;
    }
  }

  tick() {
    if (this.live && this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ action: "ping" }));
    }
    if (this.thread !== null && document.visibilityState === "visible") this.catchUp();
  }
}
