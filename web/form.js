// Arguments to be edited: a field for each property of a simple type, JSON for the rest. What is accepted in the end
// is the server's decision; its words are shown at the field that they name.

import { element, visible, wordsOf } from "./dom.js";

let forms = 0;

export class ArgumentsForm {
  // schema: the function's JSON schema, if there is one.
  constructor(given, schema) {
    forms += 1;
    this.prefix = `arguments-${forms}`;
    this.given = given ?? {};
    const properties = schema?.properties ?? {};
    const names = [...new Set([...Object.keys(properties), ...Object.keys(this.given)])];
    this.required = new Set(schema?.required ?? []);
    this.fields = names.map((name) => this.field(name, resolved(properties[name] ?? {}, schema)));
    this.node = element("div", { class: "fields" }, ...this.fields.flatMap((field) => [field.label, field.control, field.note]));
    if (this.fields.length === 0) this.node.append(element("p", { class: "faint" }, "It takes no arguments."));
  }

  focus() {
    this.fields[0]?.control.focus();
  }

  // { value } or { error }, with the field marked.
  read() {
    const value = {};
    this.mark("");
    for (const field of this.fields) {
      const text = field.text();
      if (text === "" && field.kind !== "string") {
        if (field.required) return this.refuse(field, "is needed");
        continue;
      }
      // An optional text that was not there and is still empty stays away.
      if (text === "" && !field.required && !(field.name in this.given)) continue;
      try {
        value[field.name] = field.parse(text);
      } catch (error) {
        return this.refuse(field, error.message);
      }
    }
    return { value };
  }

  refuse(field, words) {
    field.control.setAttribute("aria-invalid", "true");
    field.control.focus();
    return { error: `${wordsOf(field.name)} ${words}.` };
  }

  // Show which fields an error of the server names.
  mark(message) {
    for (const { name, control } of this.fields) {
      const named = new RegExp(`(^|[^\\w])${name.replace(/[^\w]/g, "\\$&")}($|[^\\w])`).test(message);
      if (named) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    }
  }

  field(name, schema) {
    const id = `${this.prefix}-${name}`;
    const required = this.required.has(name);
    const current = this.given[name];
    const kind = kindOf(schema, current);
    const made = CONTROLS[kind](schema, current);
    made.control.id = id;
    if (schema.description) made.control.setAttribute("aria-describedby", `${id}-note`);
    const limits = limitsOf(schema);
    const words = [schema.description, limits].filter(Boolean).join(" ");
    return {
      name,
      kind,
      required,
      ...made,
      label: element("label", { for: id }, visible(wordsOf(name)), required ? "" : element("span", { class: "faint" }, " (optional)")),
      note: words ? element("p", { class: "faint field-note", id: `${id}-note` }, visible(words)) : null,
    };
  }
}

const CONTROLS = {
  string: (schema, current) => {
    const long = String(current ?? "").length > 60 || String(current ?? "").includes("\n");
    const control = element(long ? "textarea" : "input", long ? { rows: 4 } : { type: "text", autocomplete: "off" });
    control.value = current ?? "";
    return { control, text: () => control.value, parse: (text) => text };
  },
  number: (schema, current) => {
    const control = element("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
    control.value = current ?? "";
    return { control, text: () => control.value.trim(), parse: numberOf(schema) };
  },
  choice: (schema, current) => {
    const control = element("select", {});
    if (!schema.enum.includes(current)) control.append(element("option", { value: "" }, ""));
    schema.enum.forEach((value, place) => control.append(element("option", { value: String(place) }, visible(String(value)))));
    control.value = schema.enum.includes(current) ? String(schema.enum.indexOf(current)) : "";
    return { control, text: () => control.value, parse: (place) => schema.enum[Number(place)] };
  },
  yesno: (schema, current) => {
    const control = element("select", {});
    for (const [value, words] of [["", ""], ["true", "Yes"], ["false", "No"]]) control.append(element("option", { value }, words));
    control.value = current === undefined || current === null ? "" : String(current);
    return { control, text: () => control.value, parse: (text) => text === "true" };
  },
  list: (schema, current) => {
    const control = element("textarea", { rows: 2, spellcheck: "false" });
    control.value = (current ?? []).join("\n");
    const numbers = ["integer", "number"].includes(schema.items?.type);
    const rows = Math.min(8, Math.max(2, (current ?? []).length));
    control.rows = rows;
    const parse = (text) => {
      const lines = text.split(numbers ? /[\n,]/ : "\n").map((line) => line.trim()).filter(Boolean);
      return numbers ? lines.map(numberOf(schema.items)) : lines;
    };
    return { control, text: () => control.value.trim(), parse };
  },
  json: (schema, current) => {
    const control = element("textarea", { rows: 4, spellcheck: "false", class: "code-field" });
    control.value = current === undefined ? "" : JSON.stringify(current, null, 2);
    const parse = (text) => {
      try {
        return JSON.parse(text);
      } catch {
        throw new Error("has to be JSON");
      }
    };
    return { control, text: () => control.value.trim(), parse };
  },
};

function kindOf(schema, current) {
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return "choice";
  const types = [schema.type ?? typesOf(schema, current)].flat().filter((type) => type !== "null");
  if (types.length > 1) {
    if (types.every((type) => ["integer", "number"].includes(type))) return "number";
    // An exact amount may be given as text.
    return types.every((type) => ["integer", "number", "string"].includes(type)) ? "string" : "json";
  }
  const [type] = types;
  if (type === "string") return typeof (current ?? "") === "string" ? "string" : "json";
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "yesno";
  const simple = ["string", "integer", "number"].includes(schema.items?.type);
  const fits = current === undefined || (Array.isArray(current) && current.every((one) => !String(one).includes("\n")));
  return type === "array" && simple && fits ? "list" : "json";
}

// Without a type in the schema: what the alternatives or the value itself say.
function typesOf(schema, current) {
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return alternatives.map((one) => one.type ?? "object");
  if (typeof current === "string" || typeof current === "number" || typeof current === "boolean") return typeof current;
  return "object";
}

// A reference within the schema, followed.
function resolved(schema, root) {
  const path = schema.$ref?.match(/^#\/(\$defs|definitions)\/([^/]+)$/);
  return path ? { ...root?.[path[1]]?.[path[2]], ...schema } : schema;
}

function numberOf(schema) {
  return (text) => {
    const value = Number(text.replace(",", "."));
    if (text === "" || !Number.isFinite(value)) throw new Error("has to be a number");
    if (schema.type === "integer" && !Number.isInteger(value)) throw new Error("has to be a whole number");
    return value;
  };
}

function limitsOf({ minimum, maximum, type, items }) {
  const list = type === "array" ? (["integer", "number"].includes(items?.type) ? "Separate them by commas." : "One per line.") : "";
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}. ${list}`.trim();
  if (minimum !== undefined) return `At least ${minimum}. ${list}`.trim();
  return list;
}
