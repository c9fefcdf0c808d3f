// SPDX-License-Identifier: GPL-2.0-or-later
// The DOM, changed in place: a node is touched only where its text, attribute or place has changed. Data are only
// ever text, never HTML.

export const $ = (selector, root = document) => root.querySelector(selector);

/** undefined, null, false: no such attribute. */
export function attr(node, name, value) {
  if (value === undefined || value === null || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

/** `raw`: the number behind the text, for programs. */
export function put(node, text, raw) {
  if (node.textContent !== text) node.textContent = text;
  if (raw !== undefined) attr(node, "data-value", raw);
}

/** Texts of the nodes with data-field inside `root`: {name: text}, {name: [text, raw]} or {name: [text, raw, tone]}. */
export function fill(root, fields) {
  for (const [name, value] of Object.entries(fields)) {
    const [text, raw, tone] = Array.isArray(value) ? value : [value];
    const node = $(`[data-field="${name}"]`, root);
    put(node, text, raw);
    if (tone !== undefined) attr(node, "data-tone", tone || null);
  }
}

export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) attr(node, name, value);
  node.append(...children);
  return node;
}

export const makeSvg = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);

/** What a <template> has inside. */
export const clone = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);

/** The children of `parent` become one per item, in order; a node stays the same while its key does. */
export function keyed(parent, items, keyOf, create, update) {
  const keys = [];
  for (const item of items) {
    let key = String(keyOf(item));
    while (keys.includes(key)) key += "'";
    keys.push(key);
  }
  const old = new Map();
  for (const node of [...parent.children]) {
    if (keys.includes(node.dataset.key)) old.set(node.dataset.key, node);
    else node.remove();
  }
  let next = parent.firstElementChild;
  items.forEach((item, i) => {
    let node = old.get(keys[i]);
    if (!node) {
      node = create(item);
      node.dataset.key = keys[i];
    }
    if (node === next) next = next.nextElementSibling;
    else parent.insertBefore(node, next);
    update(node, item);
  });
}

/** The rows of a table: `cellsOf` gives texts or [text, raw, tone] for each column, the first is the row's heading. */
export function rows(body, items, keyOf, cellsOf, empty) {
  const columns = body.parentElement.querySelectorAll("thead th").length;
  const create = (item) => {
    const row = make("tr");
    if (item === null) row.append(make("td", { colspan: columns, class: "none" }));
    else for (let i = 0; i < columns; i++) row.append(i ? make("td") : make("th", { scope: "row" }));
    return row;
  };
  const update = (row, item) => {
    if (item === null) return put(row.firstElementChild, empty);
    cellsOf(item).forEach((cell, i) => {
      const [text, raw, tone] = Array.isArray(cell) ? cell : [cell];
      put(row.children[i], text ?? "-", raw);
      attr(row.children[i], "data-tone", tone || null);
    });
  };
  keyed(body, items.length ? items : [null], (item) => (item === null ? "" : keyOf(item)), create, update);
}

/** Radio buttons in a fieldset; returns a function that gives the chosen value. */
export function choice(fieldset, options, initial, changed) {
  let chosen = initial;
  for (const [value, label] of options) {
    const input = make("input", { type: "radio", name: fieldset.id, value, checked: value === initial });
    input.addEventListener("change", () => {
      chosen = value;
      changed?.(value);
    });
    fieldset.append(make("label", {}, input, make("span", {}, label)));
  }
  return () => chosen;
}
