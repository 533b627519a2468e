// A session of the client that VS Code's makers test debug adapters with: node session.cjs VTDELVE PROGRAM FILE LINE.
const assert = require("node:assert");
const { DebugClient } = require("@vscode/debugadapter-testsupport");

async function main([adapter, program, file, line]) {
  const client = new DebugClient(adapter, "dap", "go");
  client.defaultTimeout = 60000;
  await client.start();

  const answers = await client.hitBreakpoint({ mode: "exec", program }, { path: file, line: Number(line) });
  const [frame] = answers.find((a) => a?.body?.stackFrames).body.stackFrames;
  assert.equal(frame.name, "main.locks");

  const listed = async () => (await client.threadsRequest()).body.threads;
  let threads = await listed();
  while (threads.at(-1).id === -2) {
    await new Promise((done) => setTimeout(done, 20)); // they are being counted
    threads = await listed();
  }
  const own = threads.find((t) => t.name.startsWith("* "));
  assert.match(own.name, /^\* locks\d #\d+ in steps: mounted$/);
  const group = threads.find((t) => / × /.test(t.name));
  const shared = await client.stackTraceRequest({ threadId: group.id });
  assert.ok(shared.body.stackFrames.length > 0);

  const { scopes } = (await client.scopesRequest({ frameId: frame.id })).body;
  assert.equal(scopes.at(-1).name, "vtscope");
  const about = await client.variablesRequest({ variablesReference: scopes.at(-1).variablesReference });
  assert.match(about.body.variables.find((v) => v.name === "name").value, /^locks\d$/);

  const said = await client.evaluateRequest({ expression: "vt scopes", context: "repl" });
  assert.match(said.body.result, /root\/steps/);
  const custom = await client.customRequest("vtscope/waits", {});
  assert.ok(custom.body.documents.length > 0);

  await client.setBreakpointsRequest({ source: { path: file }, breakpoints: [] });
  const next = client.waitForEvent("stopped");
  await client.nextRequest({ threadId: own.id });
  const step = await next;
  assert.equal(step.body.reason, "step");
  assert.equal(step.body.threadId, own.id);

  await client.disconnectRequest({ terminateDebuggee: true });
  client.stopAdapter();
}

main(process.argv.slice(2)).then(
  () => process.exit(0), // timers of the client would keep it
  (err) => {
    console.error(err);
    process.exit(1);
  },
);
