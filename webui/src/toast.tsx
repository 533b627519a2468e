import "./toast.css";
import { useEffect, useState } from "preact/hooks";

const shown = 4_000; // milliseconds

let tell: (text: string) => void = () => {};

/** say tells the user what was just done, for a moment. */
export function say(text: string): void {
  tell(text);
}

/** copy puts text into the clipboard and says so: what names it. Browsers refuse it on pages that are not on this machine and have no TLS. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    say(`the browser refuses to copy; ${what}: ${text}`);
  }
}

/** Toast is where say speaks. It stands in the page once. */
export function Toast() {
  const [said, set] = useState({ text: "", turn: 0 });
  useEffect(() => {
    tell = (text) => set((old) => ({ text, turn: old.turn + 1 }));
    return () => {
      tell = () => {};
    };
  }, []);
  useEffect(() => {
    if (!said.text) return;
    const timer = setTimeout(() => set((old) => ({ ...old, text: "" })), shown);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <div class="toast" role="status" id="toast">
      {said.text && <p>{said.text}</p>}
    </div>
  );
}
