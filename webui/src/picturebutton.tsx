import "./picturebutton.css";
import { savePicture } from "./picture";
import { say } from "./toast";

/** PictureButton saves the picture that it stands in as PNG. Over a chart, it shows while the chart is pointed at or has the focus. */
export function PictureButton({ over }: { over?: boolean }) {
  return (
    <button
      type="button"
      class={over ? "png over" : "png"}
      data-unpainted
      title="save this picture as PNG"
      aria-label="save this picture as PNG"
      onClick={(e) => {
        const box = e.currentTarget.closest("[data-picture]");
        if (!box) return;
        const title = box.getAttribute("data-picture") ?? "";
        savePicture({ box, title });
        say(`${title}: saved as PNG`);
      }}
    >
      PNG
    </button>
  );
}
