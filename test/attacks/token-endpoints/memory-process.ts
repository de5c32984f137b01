import { createHttpsSender } from '../../../functions/aws/https/sender.ts';

// Asks one well-behaved token endpoint until memory has settled, then one that attacks, and tells by how many bytes the
// most that the process ever held has grown. A process of its own, because the attacker needs memory too.
const [calm, attacker, maxBodyBytes] = process.argv.slice(2);
const send = createHttpsSender();

for (let count = 0; count < 100; count += 1) await ask(calm);
const before = process.resourceUsage().maxRSS;
const outcome = await ask(attacker);
process.send?.({ grownBytes: (process.resourceUsage().maxRSS - before) * 1_024, outcome });

async function ask(port = ''): Promise<string> {
  const request = { method: 'POST', url: new URL(`http://127.0.0.1:${port}`), headers: {}, body: '' } as const;
  try {
    const { body } = await send(request, { timeoutMs: 60_000, maxBodyBytes: Number(maxBodyBytes) });
    return `${body.length} bytes`;
  } catch (error) {
    return error instanceof Error ? error.message : 'thrown';
  }
}
