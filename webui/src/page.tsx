import { render } from "preact";
import { App } from "./app";
import "./page.css";
import "./print.css";
import { Store } from "./store";
import { applyTheme, followPreferences } from "./theme";

const root = document.getElementById("page");
if (!root) throw new Error("index.html has no element with the id page");

let queued = false;
const store = new Store(() => {
  if (queued) return;
  queued = true;
  queueMicrotask(draw);
});

function draw(): void {
  queued = false;
  render(<App state={store.state} store={store} />, root as HTMLElement);
  store.drawn();
}

applyTheme();
followPreferences();
root.replaceChildren();
draw();
