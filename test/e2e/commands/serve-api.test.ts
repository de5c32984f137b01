import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { build } from 'esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runs } from '../../support/aws/signers.ts';
import { GO_COMMAND } from '../../support/processes/go.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { issued } from '../../unit/client/broker-answers.ts';
import { type Answer, answerWith } from '../../unit/client/loopback-server.ts';
import { answering, ended, execute, finished, ROOT, startCommandLine } from './shared/command-line.ts';

const KEY = 'a-key-of-at-least-thirty-two-characters';
const AUTHORIZATION = { authorization: `Bearer ${KEY}` };

describe('token-broker serve --api', () => {
  it('forwards calls with the token, prints a line for each, and issues no token with --no-token', async () => {
    const { url, output, received } = await begin({}, ['--no-token', '--log']);
    const answer = await fetch(`${url}/reports?n=private`, { headers: AUTHORIZATION });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
    expect(received).toMatchObject([{ url: '/v1/reports?n=private', headers: { authorization: 'Bearer the-token' } }]);
    const form = { method: 'POST', body: new URLSearchParams({ client: 'acme', service: 'customer-insights' }) };
    const refusal = await fetch(new URL('/token', url), { ...form, headers: AUTHORIZATION });
    expect([refusal.status, await refusal.json()]).toMatchObject([403, { type: 'no-token' }]);
    while (!output.stdout.endsWith(' ms\n')) await turn();
    const printed = output.stdout;
    expect(printed).toMatch(/^Calls of \S+\/api\/CLIENT\/customer-insights go to http:\S+\/v1, with the token/m);
    expect(printed).toMatch(/--noproxy '\*' http:\S+\/api\/CLIENT\/customer-insights\//);
    expect(printed).toMatch(/\nacme customer-insights GET 200 \d+ ms\n$/);
    expect(printed).not.toMatch(new RegExp(`/token|private|the-token|${KEY}`));
  });

  it('prints its lines in JSON with --json, and sends no call to an API on this machine through a proxy, which would read the token', async () => {
    const proxy = await answering(answerWith(200, 'of the proxy'));
    const env = { HTTP_PROXY: proxy.url, NODE_USE_ENV_PROXY: '1', NO_PROXY: 'localhost' };
    const { url, output, received } = await begin(env, ['--log', '--json']);
    const answer = await fetch(`${url}/small`, { headers: AUTHORIZATION });
    expect([await answer.text(), received.length, proxy.requests]).toEqual(['hello', 1, []]);
    while (!output.stdout.includes('"ms"')) await turn();
    const pair = { client: 'acme', service: 'customer-insights' };
    const line = JSON.parse(output.stdout.split('\n').at(-2) ?? '');
    expect(line).toEqual({ ...pair, method: 'GET', status: 200, ms: expect.any(Number) });
  });

  it('answers 100 calls under way after SIGTERM and no further one, and ends with 0', async () => {
    const gate = Promise.withResolvers<void>();
    const { url, received, child, end } = await begin({}, [], (response) => {
      response.write('first ');
      gate.promise.then(() => response.end('last'));
    });
    const answers = Array.from({ length: 100 }, () => fetch(url, { headers: AUTHORIZATION }));
    const texts = (await Promise.all(answers)).map((answer) => answer.text());
    expect(received).toHaveLength(100);
    child.kill('SIGTERM');
    await once(child.stderr, 'data');
    const ping = () => fetch(new URL('/ping', url)).then(String, ({ cause }) => cause.code);
    await expect.poll(ping, { timeout: 20_000 }).toBe('ECONNREFUSED');
    gate.resolve();
    expect(new Set(await Promise.all(texts))).toEqual(new Set(['first last']));
    expect(await end).toMatchObject({ exitCode: 0 });
  });
});

/** What `npm ci --prefix tools/openapi` installs. */
const GENERATOR = join(ROOT, 'tools/openapi/node_modules/.bin/openapi-ts');

interface Program {
  /** Its last word is the file of the text. */
  readonly command: readonly string[];
  /** The program that must be installed, if it is not the first word. */
  readonly tool?: string;
  readonly text: string;
  readonly prepare?: (folder: string) => Promise<void>;
}

/** Programs that print the status and length of a GET, of a POST of 1 MB, and of an answer of 20 MB. */
const PROGRAMS: Readonly<Record<string, Program>> = {
  curl: {
    tool: 'curl',
    command: ['sh', 'call.sh'],
    text: `
head -c 1000000 /dev/zero > body
call() { curl -s --noproxy '*' -H "Authorization: Bearer $KEY" -o answer -w '%{http_code} %{size_download}\\n' "$@"; }
call "$API/small" && call --data-binary @body "$API/echo" && call "$API/large"
`,
  },
  "Python's urllib": {
    command: ['python3', 'call.py'],
    text: `
import os, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for path, body in (("/small", None), ("/echo", bytes(1000000)), ("/large", None)):
    headers = {"Authorization": "Bearer " + os.environ["KEY"]}
    with opener.open(urllib.request.Request(os.environ["API"] + path, body, headers)) as answer:
        print(answer.status, len(answer.read()))
`,
  },
  "Java's HttpClient": {
    command: ['java', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', 'Call.java'],
    text: `
import java.net.URI;
import java.net.http.*;
import java.net.http.HttpRequest.BodyPublishers;

class Call {
  public static void main(String[] args) throws Exception {
    var client = HttpClient.newHttpClient();
    for (var path : new String[] {"/small", "/echo", "/large"}) {
      var request = HttpRequest.newBuilder(URI.create(System.getenv("API") + path)).method("GET", BodyPublishers.noBody());
      if (path.equals("/echo")) request.POST(BodyPublishers.ofByteArray(new byte[1000000]));
      request.header("Authorization", "Bearer " + System.getenv("KEY"));
      var answer = client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
      System.out.println(answer.statusCode() + " " + answer.body().length);
    }
  }
}
`,
  },
  Go: {
    tool: 'go',
    command: [...GO_COMMAND, 'run', 'call.go'],
    text: `
package main

import ("bytes"; "fmt"; "io"; "net/http"; "os")

func main() {
	for _, path := range []string{"/small", "/echo", "/large"} {
		request, _ := http.NewRequest("GET", os.Getenv("API")+path, nil)
		if path == "/echo" {
			request, _ = http.NewRequest("POST", os.Getenv("API")+path, bytes.NewReader(make([]byte, 1000000)))
		}
		request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			panic(err)
		}
		bytes, _ := io.ReadAll(answer.Body)
		fmt.Println(answer.StatusCode, len(bytes))
	}
}
`,
  },
  'a client that openapi-ts generates': {
    tool: GENERATOR,
    command: [process.execPath, 'call.mjs'],
    text: `
import { client } from './generated/client.gen';
import { echo, large, small } from './generated/sdk.gen';
client.setConfig({ baseUrl: process.env.API, auth: process.env.KEY });
const parseAs = 'arrayBuffer';
for (const call of [() => small({ parseAs }), () => echo({ parseAs, body: new Blob([new Uint8Array(1_000_000)]) }), () => large({ parseAs })]) {
  const { response, data } = await call();
  console.log(response.status, data.byteLength);
}
`,
    prepare: async (folder) => {
      const bytes = { content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } } };
      const operation = (operationId: string, more = {}) => {
        return { operationId, ...more, responses: { 200: { description: 'The bytes.', ...bytes } } };
      };
      const description = {
        openapi: '3.1.1',
        info: { title: 'An API', version: '1' },
        security: [{ token: [] }],
        paths: {
          '/small': { get: operation('small') },
          '/echo': { post: operation('echo', { requestBody: bytes }) },
          '/large': { get: operation('large') },
        },
        components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      };
      writeFileSync(join(folder, 'api.json'), JSON.stringify(description));
      const generated = await execute([GENERATOR, '-i', 'api.json', '-o', 'generated', '-s'], {}, folder);
      expect(generated).toEqual(ended(0, ''));
      const outfile = join(folder, 'call.mjs');
      const entryPoints = [outfile];
      await build({ entryPoints, outfile, allowOverwrite: true, bundle: true, platform: 'node', format: 'esm' });
    },
  },
  "Node's fetch": {
    command: [process.execPath, 'call.mjs'],
    text: `
for (const [path, body] of [['/small'], ['/echo', new Uint8Array(1_000_000)], ['/large']]) {
  const headers = { authorization: \`Bearer \${process.env.KEY}\` };
  const answer = await fetch(process.env.API + path, { method: body ? 'POST' : 'GET', headers, body });
  console.log(answer.status, (await answer.arrayBuffer()).byteLength);
}
`,
  },
};

const missing = Object.entries(PROGRAMS).flatMap(([name, { command, tool = command[0] }]) =>
  runs('sh', '-c', `command -v ${tool}`) ? [] : name,
);
const skipped = missing.length > 0 ? ` (skipped: ${missing} cannot run here)` : '';

it(`programs in each language call the API with the key in the token's place${skipped}`, async () => {
  const { url, received } = await begin();
  const programs = Object.entries(PROGRAMS).filter(([name]) => !missing.includes(name));
  const results = programs.map(async ([name, { command, text, prepare }]) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, command.at(-1) ?? ''), text);
    await prepare?.(cwd);
    return [name, await execute(command, { HOME: cwd, KEY, API: url }, cwd)];
  });
  const good = ended(0, '200 5\n200 1000000\n200 20000000\n');
  expect(await Promise.all(results)).toEqual(programs.map(([name]) => [name, good]));
  expect(new Set(received.map(({ headers }) => headers.authorization))).toEqual(new Set(['Bearer the-token']));
});

/** Begins the command in front of an API that answers `hello`, 20 MB, or with the body. Waits until it listens. */
async function begin(
  variables: Readonly<Record<string, string>> = {},
  options: readonly string[] = [],
  answer: Answer = small,
) {
  const api = await answering(answer);
  const broker = await answering(answerWith(200, issued(Date.now(), { access_token: 'the-token' })));
  const address = broker.url.replace('127.0.0.1', 'localhost');
  const env = { TOKEN_BROKER_URL: address, TOKEN_BROKER_SERVE_KEY: KEY, ...variables };
  const args = ['serve', '--port', '0', '--api', `customer-insights=${api.url}/v1`, ...options];
  const child = startCommandLine(args, env);
  const output = { stdout: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  const end = finished(child);
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await end;
  });
  await once(child.stdout, 'data');
  const url = `${/http:\/\/127\.0\.0\.1:\d+/.exec(output.stdout)}/api/acme/customer-insights`;
  return { url, output, received: api.requests, child, end };
}

function small(...[response, { url, body }]: Parameters<Answer>): void {
  if (url === '/v1/small') response.end('hello');
  else response.end(url === '/v1/large' ? Buffer.alloc(20_000_000) : body);
}
