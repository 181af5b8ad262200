// What happens in the project, as it happens: one WebSocket, and the REST log for what it lost. While there is no
// socket the log is asked instead, so that a conversation goes on where sockets are not let through.

import { Sequence } from "./sequence.js";

const FIRST_PAUSE = 400;
const LONGEST_PAUSE = 15000;
const TICK = 5000;
const PING_EVERY = 20000;
const ANSWER_WITHIN = 8000;
// A frame that was dropped at the end of a turn leaves no gap behind which it would be missed.
const LOOK_WHILE_BUSY = 10000;
const LOOK_WHILE_IDLE = 60000;
const LONG_POLL = 10;

export class Feed {
  // onState: "connecting" | "live" | "polling" | "offline"; onFrame: every event of the channel, in no order;
  // onFailure: an ApiError after which the thread cannot be followed.
  constructor(api, { socketUrl, onState, onFrame, onFailure }) {
    Object.assign(this, { api, socketUrl, onState, onFrame, onFailure });
    this.followed = null;
    this.failures = 0;
    this.closed = false;
    this.live = false;
    this.wake = (event) => this.awake(event);
    for (const name of ["online", "offline"]) window.addEventListener(name, this.wake);
    document.addEventListener("visibilitychange", this.wake);
    this.timer = setInterval(() => this.tick(), TICK);
    this.ticked = Date.now();
    this.connect();
  }

  // From now on this thread's events behind `after`, in order, to `deliver`. Gives a handle; `follow(null)` ends it.
  follow(thread, after, deliver, busy = () => false) {
    this.followed?.reading?.abort();
    this.followed = thread === null ? null : { thread, deliver, busy, sequence: new Sequence(after), looked: 0 };
    if (thread !== null) this.catchUp();
  }

  close() {
    this.closed = true;
    clearInterval(this.timer);
    clearTimeout(this.retry);
    for (const name of ["online", "offline"]) window.removeEventListener(name, this.wake);
    document.removeEventListener("visibilitychange", this.wake);
    this.follow(null);
    this.drop();
  }

  // The socket.

  async connect() {
    if (this.closed || this.connecting) return;
    this.connecting = true;
    clearTimeout(this.retry);
    this.say(this.failures ? "offline" : "connecting");
    try {
      const { ticket, url } = await this.api.ticket();
      if (this.closed) return;
      this.open(`${url || this.socketUrl || ownSocket()}?ticket=${encodeURIComponent(ticket)}`);
    } catch (error) {
      if (error.status === 401) this.onFailure(error);
      else this.lost();
    } finally {
      this.connecting = false;
    }
  }

  open(address) {
    const socket = new WebSocket(address);
    this.drop();
    this.socket = socket;
    this.heard = Date.now();
    const channel = `App.Chat.${this.api.user}.${this.api.project}`;
    const current = () => this.socket === socket;
    socket.onopen = () => current() && socket.send(JSON.stringify({ action: "subscribe", channel }));
    socket.onmessage = (message) => current() && this.receive(message.data);
    socket.onclose = () => current() && this.lost();
  }

  drop() {
    const socket = this.socket;
    this.socket = null;
    this.live = false;
    socket?.close();
  }

  lost() {
    if (this.closed) return;
    this.drop();
    this.failures += 1;
    this.say("offline");
    const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (this.failures - 1)) * (0.7 + 0.6 * Math.random());
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.connect(), pause);
    this.catchUp();
  }

  receive(text) {
    this.heard = Date.now();
    const frame = JSON.parse(text);
    // Whatever was said of the connection meanwhile: it is there.
    this.say("live");
    if (frame.event === "Subscribed") {
      this.failures = 0;
      this.live = true;
      this.say("live");
      this.followed?.reading?.abort();
      this.catchUp();
    } else if (frame.seq !== undefined) {
      const followed = this.followed;
      if (followed && frame.thread_id === followed.thread) {
        this.hand(followed, followed.sequence.take(frame));
        if (followed.sequence.gap) this.catchUp();
      }
      this.onFrame(frame);
    }
  }

  // The log.

  // Read from where we are. One reader at a time; a call meanwhile makes it look once more.
  async catchUp() {
    const followed = this.followed;
    if (!followed) return;
    if (followed.reading) {
      followed.again = true;
      return;
    }
    followed.reading = new AbortController();
    try {
      do {
        followed.again = false;
        await this.read(followed);
      } while (this.followed === followed && (followed.again || this.polls));
    } catch (error) {
      if (error.name === "AbortError") followed.again = true;
      else if (error.status === 0 || error.status >= 500 || error.status === 429) this.say("offline");
      else if (this.followed === followed) this.onFailure(error);
    } finally {
      followed.reading = null;
    }
    if (followed.again && this.followed === followed) this.catchUp();
  }

  // Whether the log stands in for the socket: after the first failure, while somebody looks.
  get polls() {
    return !this.live && !this.closed && this.failures > 0 && document.visibilityState === "visible";
  }

  async read(followed) {
    for (;;) {
      const wait = this.polls && !followed.sequence.gap ? LONG_POLL : 0;
      const signal = followed.reading.signal;
      const { events } = await this.api.events(followed.thread, followed.sequence.last, wait, signal);
      if (this.followed !== followed) return;
      followed.looked = Date.now();
      this.say(this.polls ? "polling" : "live");
      for (const event of events) this.hand(followed, followed.sequence.take(event));
      if (events.length < 500) return;
    }
  }

  hand(followed, events) {
    if (events.length > 0) followed.looked = Date.now();
    for (const event of events) followed.deliver(event);
  }

  // Time.

  tick() {
    const now = Date.now();
    // A timer that comes far too late: the machine slept, and the socket may be dead without knowing it.
    const slept = now - this.ticked > 4 * TICK;
    this.ticked = now;
    if (slept) this.awake();
    if (this.live && now - this.heard > PING_EVERY) this.ping();
    const followed = this.followed;
    if (!followed || document.visibilityState !== "visible") return;
    const due = now - followed.looked > (followed.busy() ? LOOK_WHILE_BUSY : LOOK_WHILE_IDLE);
    if (due || followed.sequence.gap) this.catchUp();
  }

  ping() {
    const { socket, heard } = this;
    socket.send(JSON.stringify({ action: "ping" }));
    setTimeout(() => {
      if (this.socket === socket && this.heard === heard) this.lost();
    }, ANSWER_WITHIN);
  }

  awake(event) {
    if (this.closed) return;
    if (event?.type === "offline") {
      this.say("offline");
      return;
    }
    if (document.visibilityState !== "visible") return;
    if (this.live) this.ping();
    else {
      this.failures = Math.min(this.failures, 1);
      this.connect();
    }
    this.catchUp();
  }

  say(state) {
    // The log can be read: that alone does not make it live.
    if (state === this.state || (state === "live" && !this.live)) return;
    this.state = state;
    this.onState(state);
  }
}

function ownSocket() {
  return `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/ws`;
}
