import { type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Starts a program, which answers orders with `answerOrders`, as a process of its own. */
export function startProgram<Order, Answer>(program: URL, args: readonly string[], options: ForkOptions = {}) {
  const child = fork(fileURLToPath(program), args, { execArgv: [], silent: true, ...options });
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  }
  const ordered: PromiseWithResolvers<Answer>[] = [];
  child.on('message', (message) => {
    const { id, answer, failure } = JSON.parse(String(message));
    if (failure === undefined) ordered[id]?.resolve(answer);
    else ordered[id]?.reject(new Error(failure));
  });
  const ended = once(child, 'close').then(() => {
    for (const { reject } of ordered) reject(new Error(`${program} ended: ${chunks.join('')}`));
  });

  return {
    /** Throws the failure of the order, or what the process wrote when it has ended. */
    order(order: Order): Promise<Answer> {
      const answer = Promise.withResolvers<Answer>();
      const id = ordered.push(answer) - 1;
      child.send(JSON.stringify({ id, order }));
      return answer.promise;
    },
    /** All that it wrote. */
    written: () => chunks.join(''),
    /** Ends the process at once, also in the middle of its work. */
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Carries out the orders for this process, each as it comes; the process ends with the one that started it. */
export function answerOrders<Order>(carryOut: (order: Order) => Promise<unknown>): void {
  process.on('message', async (message) => {
    const { id, order } = JSON.parse(String(message));
    const told = await carryOut(order).then(
      (answer) => ({ answer }),
      (error: unknown) => ({ failure: String(error) }),
    );
    process.send?.(JSON.stringify({ id, ...told }));
  });
  process.on('disconnect', () => process.exit());
}
