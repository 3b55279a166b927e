// A service on this machine that workflows of the test call: it answers as the path says.
import { createServer } from "node:http";

/** Starts it; gives its address and how to end it. */
export async function startService() {
  const seen = new Map();
  const server = createServer((request, response) => {
    const times = (seen.get(request.url) ?? 0) + 1;
    seen.set(request.url, times);
    const failed = request.url === "/unknown" ? 500 : request.url === "/second-time" && times === 1 ? 404 : 200;
    request.resume();
    response.writeHead(failed, { "content-type": "application/json" });
    response.end("{}");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
