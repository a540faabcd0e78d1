// Adds what needs a script: tables that sort, commands that copy. Without it the page is complete.
"use strict";

function valueOf(row, column, numeric) {
  const text = row.cells[column].textContent;
  return numeric ? parseFloat(text.replaceAll(",", "")) : text;
}

function sort(table, heading) {
  const column = heading.cellIndex;
  const numeric = heading.classList.contains("n");
  const descending = heading.getAttribute("aria-sort") === "ascending";
  const body = table.tBodies[0];
  const missing = (value) => (numeric ? Number.isNaN(value) : value === "-");
  const sorted = Array.from(body.rows).sort((first, second) => {
    const a = valueOf(first, column, numeric);
    const b = valueOf(second, column, numeric);
    // What is not known comes last, whichever way.
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    const order = numeric ? a - b : a.localeCompare(b, "en", { numeric: true });
    return descending ? -order : order;
  });
  body.append(...sorted);
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
}

for (const table of document.querySelectorAll("main table")) {
  for (const heading of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(table, heading));
    heading.append(button);
  }
}

async function copy(button, code) {
  const said = document.getElementById("said");
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
    said.textContent = "The command was copied.";
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = "Selected";
    said.textContent = "The command is selected; this browser does not let a page copy it.";
  }
  setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 3000);
}

for (const command of document.querySelectorAll(".command")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy the command of ${command.querySelector("p code").textContent}`);
  button.addEventListener("click", () => copy(button, command.querySelector("pre code")));
  command.querySelector("pre").before(button);
}
