// The program of an instance. It takes only the steps of Lambda's own runtime client, and sends its usage with a result.

const http = process.getBuiltinModule('node:http');
const { existsSync } = process.getBuiltinModule('node:fs');
const { createRequire } = process.getBuiltinModule('node:module');

const { AWS_LAMBDA_RUNTIME_API, LAMBDA_TASK_ROOT } = process.env;
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

const handler = await loadHandler();
for (;;) {
  const { headers, body } = await call('GET', 'next');
  const requestId = headers['lambda-runtime-aws-request-id'];
  const deadline = Number(headers['lambda-runtime-deadline-ms']);
  const context = { awsRequestId: requestId, getRemainingTimeInMillis: () => deadline - Date.now() };
  const before = process.cpuUsage();
  const result = await handler(JSON.parse(body), context);
  const usage = [before, process.cpuUsage(), process.memoryUsage.rss()];
  await call('POST', `${requestId}/response`, JSON.stringify(result), { usage: JSON.stringify(usage) });
}

/** Imports an ES module, which may await its first reads, and requires any other module. */
async function loadHandler(): Promise<(event: unknown, context: object) => Promise<unknown>> {
  const file = `${LAMBDA_TASK_ROOT}/index`;
  if (existsSync(`${file}.mjs`)) return (await import(`${file}.mjs`)).handler;
  return createRequire(import.meta.url)(`${file}.js`).handler;
}

function call(method: string, path: string, sent?: string, more: NodeJS.Dict<string> = {}) {
  const answer = Promise.withResolvers<{ readonly headers: NodeJS.Dict<string | string[]>; readonly body: string }>();
  const url = `http://${AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation/${path}`;
  const outgoing = http.request(url, { method, agent, headers: more }, (incoming) => {
    let body = '';
    incoming.setEncoding('utf8');
    incoming.on('data', (text: string) => {
      body += text;
    });
    incoming.on('end', () => answer.resolve({ headers: incoming.headers, body }));
  });
  outgoing.on('error', answer.reject);
  outgoing.end(sent);
  return answer.promise;
}
