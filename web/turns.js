// Turns and their items, as conversation.js tells: what is there, where it belongs, and which of it has changed.

const OPEN = ["writing", "running", "waiting"];

export class Turns {
  constructor() {
    this.turns = new Map();
    this.order = [];
    this.changed = new Set();
  }

  takeChanges() {
    const { changed } = this;
    this.changed = new Set();
    return changed;
  }

  turn(number) {
    let turn = this.turns.get(number);
    if (!turn) {
      turn = { kind: "turn", number, items: [], calls: new Map(), texts: new Map(), status: "open" };
      this.turns.set(number, turn);
      const place = this.order.findLastIndex((other) => other < number) + 1;
      this.order.splice(place, 0, number);
      this.changed.add(this);
      // A later turn has begun: nothing of the earlier ones can still be under way.
      const before = this.turns.get(this.order[place - 1]);
      if (before?.status === "open") this.close(before, "done");
      if (place < this.order.length - 1) turn.status = "done";
    }
    return turn;
  }

  add(turn, place, item) {
    if (place.items.some((other) => other.kind === item.kind && other.id === item.id)) return;
    item.place = place;
    item.turn = turn;
    place.items.push(item);
    this.changed.add(place).add(item);
  }

  // A call is different, and with it those within which it is made.
  touch(call) {
    for (let one = call; one.kind === "call"; one = one.place) this.changed.add(one);
  }

  // Take a turn out, to be put together anew.
  forget(number) {
    this.turns.delete(number);
    this.order = this.order.filter((other) => other !== number);
    this.changed.add(this);
  }

  remove(turn, item) {
    item.place.items = item.place.items.filter((other) => other !== item);
    turn.calls.delete(item.id);
    turn.texts.delete(item.id);
    this.changed.add(item.place);
  }

  // Nothing of a turn that is over is still under way.
  close(turn, status) {
    turn.status = status;
    turn.applying = false;
    this.settleBelow(turn, "stopped");
    this.changed.add(turn).add(this);
  }

  settleBelow(place, status) {
    for (const item of [...place.items]) {
      if (item.kind === "text" && !item.ended) {
        item.ended = true;
        if (!item.text) this.remove(item.turn, item);
        this.changed.add(item);
      } else if (item.kind === "call") {
        if (OPEN.includes(item.status)) {
          item.status = status;
          if (item.proposal && !item.proposal.outcome) item.proposal.outcome = "cancelled";
          this.changed.add(item);
        }
        this.settleBelow(item, status);
      }
    }
  }
}
