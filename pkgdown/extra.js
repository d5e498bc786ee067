// The contents of a page, and a button that copies code. Pages are whole without these.
const make = (name, props = {}) => Object.assign(document.createElement(name), props);

const toc = document.getElementById("toc");
const headings = [...document.querySelectorAll("main h2, main h3")]
  .map((heading) => [heading, heading.id || heading.closest("[id]")?.id])
  .filter(([, id]) => id && id !== "main");
if (toc && headings.length > 1) {
  const list = make("ul");
  for (const [heading, id] of headings) {
    const item = make("li", { className: heading.localName });
    const text = [...heading.childNodes].filter((x) => !x.classList?.contains("anchor"));
    item.append(make("a", { href: "#" + id, textContent: text.map((x) => x.textContent).join("").trim() }));
    list.append(item);
  }
  toc.append(list);
} else toc?.parentElement.remove();

for (const block of document.querySelectorAll("div.sourceCode")) {
  const button = make("button", { type: "button", className: "copy", textContent: "copy" });
  button.onclick = async () => {
    const lines = block.querySelector("pre").textContent.split("\n");
    await navigator.clipboard.writeText(lines.filter((line) => !line.startsWith("#>")).join("\n"));
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  };
  if (navigator.clipboard) block.append(button);
}
