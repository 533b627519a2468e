import { useEffect, useRef, useState } from "preact/hooks";
import { clock } from "./format";

const lingers = 30_000; // milliseconds

interface NoticeProps {
  text: string; // "": there is nothing to say
  kind: "bad" | "info";
  id?: string;
  linger?: number;
}

/**
 * Notice is a line above the page. What is over stays for a while and says since when: else the page below would jump with each look at something that comes and goes,
 * and who blinks would miss it.
 */
export function Notice({ text, kind, id, linger }: NoticeProps) {
  const last = useRef({ text: "", over: 0 });
  const [, again] = useState(0);
  if (text) last.current = { text, over: 0 };
  else if (last.current.text && last.current.over === 0) last.current.over = Date.now();
  useEffect(() => {
    if (text || !last.current.text) return;
    const timer = setTimeout(() => {
      last.current = { text: "", over: 0 };
      again((n) => n + 1);
    }, linger ?? lingers);
    return () => clearTimeout(timer);
  }, [text === ""]);
  const { text: said, over } = last.current;
  if (!said) return null;
  return (
    <p class={over > 0 ? "info" : kind} id={id} data-over={over > 0}>
      {over > 0 && <b>over since {clock(over)}: </b>}
      {said}
    </p>
  );
}
