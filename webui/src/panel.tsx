import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Age } from "./age";
import { commandLine } from "./command";
import type { State } from "./store";

interface PanelProps {
  id: string;
  title: string;
  head?: ComponentChildren; // in place of the title
  note?: ComponentChildren;
  active?: boolean;
  onActivate?: () => void;
  onHover?: (over: boolean) => void;
  children: ComponentChildren;
  foot?: ComponentChildren;
}

/** Panel is a titled box that scrolls by itself. */
export function Panel(props: PanelProps) {
  return (
    <section
      id={props.id}
      class={props.active ? "panel active" : "panel"}
      aria-label={props.title}
      onPointerDown={props.onActivate}
      onPointerEnter={() => props.onHover?.(true)}
      onPointerLeave={() => props.onHover?.(false)}
    >
      <h2>
        {props.head ?? props.title}
        <Age />
        <span class="note">{props.note}</span>
      </h2>
      <div class="body" tabIndex={0}>
        {props.children}
      </div>
      {props.foot && <div class="foot">{props.foot}</div>}
    </section>
  );
}

/** Empty says why a panel has nothing to show. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** Command is a command line that prints what the panel shows, with a button that copies it. */
export function Command({ line }: { line: string }) {
  const [said, say] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(line);
      say("copied");
    } catch {
      say("select it and copy");
    }
    clearTimeout(timer.current);
    timer.current = setTimeout(() => say(""), 1_500);
  };
  return (
    <span class="command">
      <code tabIndex={0}>{line}</code>
      <button type="button" onClick={() => void copy()} title="copy this command line">
        {said || "copy"}
      </button>
    </span>
  );
}

/** NowCommand is the command line of a panel of which vtdump prints what is now; of a moment of the past it says that there is none. */
export function NowCommand({ state, of }: { state: State; of: string }) {
  if (!state.process || state.process.missing) return null;
  if (state.route.at === "") return <Command line={commandLine(state, of, {})} />;
  return (
    <span class="dim no-command" title="of a moment of the past vtdump prints threads alone, as the line at the stack groups does">
      no command prints this of the past
    </span>
  );
}

/** useInView scrolls the row that the keyboard chose into its panel. */
export function useInView(selected: string, active: boolean) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (active) ref.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [selected, active]);
  return ref;
}
