// The events of one thread, each once and in order, from frames that may come twice, late, or not at all.

export class Sequence {
  constructor(last = 0) {
    this.last = last;
    this.early = new Map();
    // The highest seq of a frame that came without its data: it has to be read from the log.
    this.wanted = 0;
  }

  // Take an event; gives those that are now in order, oldest first.
  take(event) {
    if (!Number.isInteger(event.seq) || event.seq <= this.last) return [];
    if (event.data && "$ref" in event.data) this.wanted = Math.max(this.wanted, event.seq);
    else this.early.set(event.seq, event);
    return this.release();
  }

  // Go on behind a seq that somebody else has shown up to.
  jump(last) {
    this.last = Math.max(this.last, last);
    for (const seq of this.early.keys()) if (seq <= this.last) this.early.delete(seq);
    return this.release();
  }

  // Whether something before what has come is missing.
  get gap() {
    return this.early.size > 0 || this.wanted > this.last;
  }

  release() {
    const ordered = [];
    for (let event; (event = this.early.get(this.last + 1)) !== undefined; ) {
      this.early.delete(event.seq);
      this.last = event.seq;
      ordered.push(event);
    }
    return ordered;
  }
}
