import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { AgeLine } from "./age";
import { Export } from "./export";
import { Help } from "./help";
import { addKeys, everywhere } from "./keys";
import type { Context } from "./keys";
import { Kept } from "./kept";
import "./overlays.css";
import { Palette } from "./palette";
import { Processes } from "./processes";
import { Settings } from "./settings";

/** What every overlay gets. */
export interface OverlayProps {
  context: Context;
  close: () => void;
}

/** What lies over the page when the URL says panel=name. It is not drawn, and does nothing, until then. */
export interface Overlay {
  name: string; // in the URL
  title: string;
  about: string; // what its key does, as one would order it; no full stop
  keys: string[]; // that open it, and close it again
  bare?: boolean; // without title and close button
  show: (props: OverlayProps) => JSX.Element;
}

/** All overlays, in the order in which help and palette list them. */
export const overlays: Overlay[] = [
  { name: "help", title: "Help", about: "show keys, words and documents", keys: ["?"], show: Help },
  { name: "palette", title: "Palette", about: "find an action, a place or a filter", keys: ["Ctrl+k", ":"], bare: true, show: Palette },
  { name: "processes", title: "Processes", about: "show all processes beside each other", keys: ["p"], show: Processes },
  { name: "export", title: "Export", about: "take away a dump, a recording, a profile, a picture", keys: ["e"], show: Export },
  { name: "kept", title: "Recordings", about: "show recordings and incident bundles", keys: ["r"], show: Kept },
  { name: "settings", title: "Settings", about: "show and change what is recorded", keys: ["s"], show: Settings },
];

for (const o of overlays) {
  addKeys({
    keys: o.keys,
    words: `${o.title}: ${o.about}`,
    place: everywhere,
    over: true,
    act: ({ state, store }) => store.go({ panel: state.route.panel === o.name ? "" : o.name }),
  });
}

/** Overlays shows the overlay that the URL names. The dialog keeps the focus, and gives it back to what had it. */
export function Overlays({ context }: { context: Context }) {
  const overlay = overlays.find((o) => o.name === context.state.route.panel);
  return overlay ? <Over key={overlay.name} overlay={overlay} context={context} /> : null;
}

function Over({ overlay, context }: { overlay: Overlay; context: Context }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = (): void => context.store.go({ panel: "" });
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close(); // before it leaves the document: else the focus is lost
  }, []);
  return (
    <dialog
      ref={dialog}
      class="overlay"
      id={`overlay-${overlay.name}`}
      aria-label={overlay.title}
      onCancel={(e) => {
        if (e.target !== e.currentTarget) return;
        e.preventDefault();
        close();
      }}
      onClick={(e) => {
        if (e.target === e.currentTarget) close(); // beside its content
      }}
    >
      <div class="sheet">
        {!overlay.bare && (
          <h2>
            {overlay.title}
            <span class="fill" />
            <button type="button" onClick={close} title={`close ${overlay.title}`}>
              close <kbd>Esc</kbd>
            </button>
          </h2>
        )}
        <AgeLine />
        <div class="within">
          <overlay.show context={context} close={close} />
        </div>
      </div>
    </dialog>
  );
}
