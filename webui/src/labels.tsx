import type { Label, ThreadReport, Trace } from "./documents";
import { quotedValue, withCondition } from "./filters";
import "./labels.css";
import { copy } from "./toast";
import type { Store } from "./store";

/** labelCondition is the condition of a filter for those that have a label; "": its key cannot be written in one, or its value was cut. */
export function labelCondition(label: Label): string {
  if (!/^[\w.-]+$/.test(label.key) || label.value.endsWith("…")) return "";
  return `label:${label.key}=${/^[\w.-]+$/.test(label.value) ? label.value : quotedValue(label.value)}`;
}

/** traceLink is the address of a trace by the template that vtserve was given; "": it was given none, or the template wants a span and there is none. */
export function traceLink(template: string | undefined, trace: Trace): string {
  if (!template || (template.includes("{span}") && !trace.span)) return "";
  const url = template.replaceAll("{trace}", encodeURIComponent(trace.id)).replaceAll("{span}", encodeURIComponent(trace.span ?? ""));
  return /^https?:\/\//.test(url) ? url : "";
}

/** Labels are those that a thread has from the program. A click filters by one. */
export function Labels({ r, recorded, store }: { r: ThreadReport; recorded: boolean; store: Store }) {
  const labels = r.labels ?? [];
  if (labels.length === 0 && recorded) return <span class="dim">none known: a recording has those of threads that lived for two seconds or more</span>;
  if (labels.length === 0) return <span class="dim">none that the program gave it</span>;
  return (
    <span class="labels">
      {labels.map((l) => {
        const condition = labelCondition(l);
        const text = (
          <>
            {l.key}=<b>{l.value}</b>
          </>
        );
        return condition ? (
          <button key={l.key} type="button" data-label={l.key} title={`${l.key}=${l.value}\nonly threads with this label`} onClick={() => store.go({ filter: withCondition(store.state.route.filter, condition), thread: "" })}>
            {text}
          </button>
        ) : (
          <span key={l.key} title={`${l.key}=${l.value}`}>
            {text}
          </span>
        );
      })}
      {r.labels_cut && <span class="dim">and more that are not recorded</span>}
    </span>
  );
}

/** TraceOf leads to the trace that the labels of a thread name, or has its id to copy. */
export function TraceOf({ trace, template }: { trace: Trace; template: string | undefined }) {
  const url = traceLink(template, trace);
  return (
    <span class="trace" id="trace" title={`as the label ${trace.key} tells${url ? "" : "; vtserve --trace-url 'https://…/{trace}' makes it a link"}`}>
      {url ? (
        <a href={url} target="_blank" rel="noreferrer">
          <code>{trace.id}</code>
        </a>
      ) : (
        <code>{trace.id}</code>
      )}
      {trace.span && (
        <span>
          span <code>{trace.span}</code>
        </span>
      )}
      <button type="button" onClick={() => void copy(trace.id, "the id of the trace")}>
        copy
      </button>
    </span>
  );
}
