// Runs before the first paint, as a script of its own, so that no page is seen in another theme than its own.
import { applyTheme } from "./theme";

applyTheme();
