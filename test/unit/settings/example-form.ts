const SERVICE = { authUrl: 'https://auth.example.com' };

/** The least that an environment can be. */
export function exampleForm() {
  return {
    account: '111111111111',
    region: 'eu-west-1',
    services: { 'customer-insights': SERVICE, 'merchant-payment-cleansing': SERVICE },
    accessRules: [
      { role: 'arn:aws:iam::111111111111:role/billing', clients: ['acme'], services: ['customer-insights'] },
    ],
  };
}

/** The network of the token function. */
export const VPC = { subnetIds: ['subnet-0123456789abcdef0'], securityGroupIds: ['sg-0123456789abcdef0'] };

/** The options that add resources or rights to a template. */
export const ALL_OPTIONS = {
  vpc: { ...VPC, all: true },
  trail: {},
  tracing: true,
  provisionedConcurrency: 1,
  logDestinationArn: 'arn:aws:logs:eu-west-1:111111111111:destination:siem',
};

/** A form with one place changed; `undefined` takes the member away. The path's steps are joined by `/`. */
export function changed(form: unknown, path: string, value: unknown): unknown {
  const [step = '', ...rest] = path.split('/');
  const members = typeof form === 'object' && form !== null ? Object.entries(form) : [];
  const inner = members.find(([name]) => name === step)?.[1];
  const entries = [
    ...members.filter(([name]) => name !== step),
    [step, rest.length === 0 ? value : changed(inner, rest.join('/'), value)] as const,
  ];
  return Array.isArray(form) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

/** The lines of the error that `parse` throws, without its heading. */
export function faultsIn(parse: () => unknown): string[] {
  try {
    parse();
  } catch (error) {
    return error instanceof Error ? error.message.split('\n').slice(1) : [];
  }
  return [];
}
