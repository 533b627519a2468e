const site = "https://ui.perfetto.dev";
const patience = 60_000; // milliseconds until the site answers

/**
 * openInPerfetto opens Perfetto's page in a window of its own and hands the trace over within the browser: it is not uploaded. Call it from a click, or the
 * browser opens no window. It returns when the page has it.
 */
export async function openInPerfetto(trace: Blob, title: string): Promise<void> {
  const page = open("about:blank");
  if (!page) throw new Error("the browser opened no window: allow it to, and click again");
  page.opener = null; // it must not lead this page elsewhere
  page.location.href = site;
  const buffer = await trace.arrayBuffer();
  await new Promise<void>((done, fail) => {
    const ask = setInterval(() => page.postMessage("PING", site), 100); // it answers when it listens
    const late = setTimeout(() => end(new Error(`${site} does not answer: is there a network? Save the file and open it there`)), patience);
    const end = (why?: Error): void => {
      clearInterval(ask);
      clearTimeout(late);
      removeEventListener("message", heard);
      if (why) fail(why);
      else done();
    };
    const heard = (e: MessageEvent): void => {
      if (e.source === page && e.origin === site && e.data === "PONG") end();
    };
    addEventListener("message", heard);
  });
  page.postMessage({ perfetto: { buffer, title, fileName: "run.pftrace", keepApiOpen: false } }, site, [buffer]);
}
