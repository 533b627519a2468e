import "./frames.css";
import { base, leaf } from "./format";
import type { Frame } from "./documents";
import { copy } from "./toast";

interface FramesProps {
  frames: Frame[];
  all: boolean; // internal ones too
  truncated?: boolean | undefined;
  full?: boolean; // files with their folders
}

/** shownFrames are those that are the program's own, or all if none is. */
export function shownFrames(frames: Frame[], all: boolean): Frame[] {
  const own = frames.filter((f) => !f.internal);
  return all || own.length === 0 ? frames : own;
}

/** Frames is a stack, the innermost call first. A click on a place copies it as editors take it: FILE:LINE. */
export function Frames({ frames, all, truncated, full }: FramesProps) {
  return (
    <ol class="frames">
      {shownFrames(frames, all).map((f, i) => (
        <li key={i} class={f.internal ? "internal" : ""} title={`${f.func}\n${f.file ?? ""}:${f.line ?? 0}`}>
          <code>{leaf(f.func)}</code>
          {f.inlined && <em>inlined</em>}
          {f.file && (
            <button type="button" class="source" title={`copy ${f.file}:${f.line}`} onClick={() => void copy(`${f.file}:${f.line}`, "place")}>
              {full ? `${f.file}:${f.line}` : `${base(f.file)}:${f.line}`}
            </button>
          )}
        </li>
      ))}
      {truncated && <li class="internal">outer frames were not recorded: the stack is deeper</li>}
    </ol>
  );
}
