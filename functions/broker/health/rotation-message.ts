import type { CheckedPair } from './check-pairs.ts';
import type { Notify } from './notify.ts';

/**
 * Sends the first message that gets out and takes the others for sent: a new version is one piece of news, on however many
 * services it was looked at. The message tells how it did on each.
 */
export function tellOnce(notify: Notify, checked: readonly CheckedPair[]): Notify {
  const overview = checked.map(
    ({ pair, finding, version }) => `  ${pair.service}: ${finding} (${version ?? 'no version'})`,
  );
  let isTold = false;
  return async ({ subject, text }) => {
    if (isTold) return;
    const paragraph = checked.length > 1 ? `\nOn all services of the client:\n${overview.join('\n')}\n` : '';
    await notify({ subject, text: text + paragraph });
    isTold = true;
  };
}
