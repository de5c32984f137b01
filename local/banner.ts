import type { LocalConfig } from '../lib/settings/local-config.ts';
import type { LocalBroker } from './broker.ts';
import { DEFAULT_PORT } from './config.ts';
import { envCommand, quote, roleName, shellCallers } from './shell.ts';

/** The greeting of `npm start`: addresses, and commands to copy and paste. */
export function greeting(broker: LocalBroker, platform = process.platform): string {
  const { url, config, pageUrl, tokenServiceUrl, moved } = broker;
  return [
    `token broker ready on ${url}`,
    `watch and try it on ${pageUrl}`,
    ...moved,
    '',
    ...callerLines(config),
    ...(tokenServiceUrl === undefined ? [] : ['', `The services' stand-in is ${tokenServiceUrl}`]),
    '',
    ...commandLines(broker),
    ...(platform === 'win32' ? powershellLines(broker.url) : []),
    '',
    'Ctrl-C ends it.',
    '',
  ].join('\n');
}

function callerLines({ callers, accessRules }: LocalConfig): readonly string[] {
  const names = (list: readonly string[] | 'all', of: string) => (list === 'all' ? `all ${of}` : list.join(', '));
  return callers.map(({ role }) => {
    const rules = accessRules.filter((rule) => rule.role === role);
    const texts = rules.map((rule) => `${names(rule.clients, 'clients')} on ${names(rule.services, 'services')}`);
    return `  ${roleName(role).padEnd(12)} may act for ${texts.join('; ') || 'no client'}`;
  });
}

function commandLines(broker: LocalBroker): readonly string[] {
  const call = exampleCall(broker.config);
  if (call === undefined) return ['No access rule names a caller, so no caller gets a token.'];
  const { caller, client, service } = call;
  const { accessKeyId, secretAccessKey, role } = caller;
  return [
    `Ask for a token as ${roleName(role)}:`,
    `  curl --aws-sigv4 aws:amz:us-east-1:lambda --user ${quote(`${accessKeyId}:${secretAccessKey}`)} -H 'content-type: application/json' -d ${quote(JSON.stringify({ client, service }))} ${broker.url}/token`,
    '',
    'Or in another terminal with the command line, the AWS CLI or an SDK:',
    `  ${envCommand(broker.url, roleName(role))}`,
    `  npm run --silent token-broker -- token --client ${client} --service ${service}`,
    ...(shellCallers(broker.config).has('operator') ? operatorLines(broker.url, client) : []),
  ];
}

function operatorLines(url: string, client: string): readonly string[] {
  return [
    '',
    'Then manage the clients as an operator:',
    `  ${envCommand(url, 'operator')}`,
    `  npm run --silent token-broker -- client check ${client}`,
    '  npm run --silent token-broker -- health --run',
  ];
}

function powershellLines(url: string): readonly string[] {
  const { port } = new URL(url);
  return [
    '',
    "In PowerShell write `npm.cmd` for `npm`, whose script loses the `--`, and set a caller's variables with:",
    `  ${port === DEFAULT_PORT ? '' : `$env:PORT = ${port}; `}npm.cmd run --silent token-broker -- env CALLER --powershell | Invoke-Expression`,
  ];
}

/** Returns a caller and a pair that it may ask for, as an example. Returns `undefined` when no rule names a caller. */
function exampleCall({ callers, accessRules, services, credentials }: LocalConfig) {
  for (const caller of callers) {
    const rule = accessRules.find(({ role, operations }) => role === caller.role && operations.includes('token'));
    const client = rule?.clients === 'all' ? Object.keys(credentials)[0] : rule?.clients[0];
    const service = rule?.services === 'all' ? Object.keys(services)[0] : rule?.services[0];
    if (client !== undefined && service !== undefined) return { caller, client, service };
  }
  return undefined;
}

/** Formats a log line of a function for a person: outcome, pair, caller, source of the token, duration. */
export function requestLine(line: string): string {
  const { outcome, operation, pair, caller, probe, cache, warnings = [], Duration: milliseconds } = JSON.parse(line);
  const asked = caller ? `for ${caller}` : pair && operation === 'health' && 'found by health';
  const origin = cache === 'none' ? 'token request' : cache && `from ${cache}`;
  const duration = milliseconds === undefined ? undefined : `${Math.round(milliseconds)} ms`;
  const result = probe ? `${outcome} (the probe, as expected)` : outcome;
  const words = [result, pair ?? operation, asked, origin, ...warnings, duration];
  return `${words.filter(Boolean).join('  ')}\n`;
}
