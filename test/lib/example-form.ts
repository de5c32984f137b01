/** The least that an environment can be. */
export function exampleForm() {
  return {
    account: '111111111111',
    region: 'eu-west-1',
    services: {
      'customer-insights': { authUrl: 'https://auth.example.com' },
      'merchant-payment-cleansing': { authUrl: 'https://auth.example.com' },
    },
    accessRules: [
      { role: 'arn:aws:iam::111111111111:role/billing', clients: ['acme'], services: ['customer-insights'] },
    ],
  };
}

/** A form with one place changed; `undefined` takes the member away. The path's steps are joined by `/`. */
export function changed(form: object, path: string, value: unknown): object {
  const [step = '', ...rest] = path.split('/');
  const copy: Record<string, unknown> = Array.isArray(form) ? Object.assign([], form) : { ...form };
  const inner = copy[step] ?? {};
  copy[step] = rest.length === 0 || typeof inner !== 'object' ? value : changed(inner, rest.join('/'), value);
  return copy;
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
