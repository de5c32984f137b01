/** Where `npm start` listens; 0 stands for a free port. */
export interface Ports {
  readonly port: number;
  readonly pagePort: number;
}

/** Reads `PORT` and `PAGE_PORT`: whoever moves the broker without a word about its page gets a free port for it. */
export function readPorts(variables: Readonly<Record<string, string | undefined>>): Ports {
  const { PORT, PAGE_PORT = PORT === undefined ? '8789' : '0' } = variables;
  return { port: parsePort('PORT', PORT ?? '8788'), pagePort: parsePort('PAGE_PORT', PAGE_PORT) };
}

function parsePort(variable: string, text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`${variable} must be a port number, not "${text}"`);
}
