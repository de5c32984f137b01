/** @import { CallForm, CallReport, Outcome, Overview, RevealedAnswer, SeenRequest } from './messages.ts' */

// All that is shown comes in as text and stays text: nothing here writes HTML.

const ask = /** @type {HTMLFormElement} */ (find('ask'));
/** @type {Overview} */
let overview = { running: [], callers: [], clients: [], services: [] };
let events = /** @type {EventSource | undefined} */ (undefined);
let asked = /** @type {CallForm | undefined} */ (undefined);
let shown = /** @type {{ form: CallForm, report: CallReport } | undefined} */ (undefined);
/** What each call came to the last time, by `keyOf`. @type {Map<string, Outcome>} */
const outcomes = new Map();

find('callers').addEventListener('change', showPairs);
find('operations').addEventListener('change', showPairs);
ask.addEventListener('submit', (event) => {
  event.preventDefault();
  call(formOf(value('client'), value('service')));
});
find('whoami').addEventListener('click', () => call({ caller: value('caller'), operation: 'whoami' }));
find('reveal').addEventListener('click', () => (find('reveal').ariaPressed === 'true' ? showAnswer() : reveal()));
find('refuse').addEventListener('click', () => {
  if (shown) call({ ...shown.form, min_ttl: undefined, refused: shown.report.fingerprint });
});
find('copy').addEventListener('click', async () => {
  await navigator.clipboard.writeText(shown?.report.curl ?? '');
  say('The command is copied.');
});
find('pause').addEventListener('change', connect);
// A browser opens six connections to one place: hidden pages must not hold them all.
document.addEventListener('visibilitychange', connect);
connect();

/** Listens to the broker unless told not to. */
function connect() {
  events?.close();
  if (document.hidden || /** @type {HTMLInputElement} */ (find('pause')).checked) return showConnection('paused');
  showConnection('connecting');
  events = new EventSource('/events');
  // Each connection tells all of the last requests once more.
  events.addEventListener('open', () => find('requests').replaceChildren());
  events.addEventListener('overview', ({ data }) => showOverview(JSON.parse(data)));
  events.addEventListener('error', () => showConnection('not running'));
  events.addEventListener('message', ({ data }) => {
    for (const request of JSON.parse(data)) find('requests').prepend(requestRow(request));
    while (find('requests').childElementCount > 30) find('requests').lastElementChild?.remove();
  });
}

/** @param {'connecting' | 'live' | 'paused' | 'not running'} state */
function showConnection(state) {
  find('connection').textContent = state;
  find('connection').className = state.replace(' ', '-');
}

/** @param {SeenRequest} request */
function requestRow({ at, outcome, caller, subject, origin, milliseconds }) {
  const time = element('time', { dateTime: new Date(at).toISOString() }, new Date(at).toLocaleTimeString('en-GB'));
  return element(
    'tr',
    {},
    element('td', {}, mark(outcome), element('small', {}, caller ?? '')),
    element('td', {}, subject, element('small', {}, origin ?? '')),
    element('td', {}, milliseconds === undefined ? '' : `${milliseconds} ms`, element('small', {}, time)),
  );
}

/** @param {Outcome} outcome */
function mark({ word, kind }) {
  return element('span', { className: `outcome ${kind}` }, word);
}

/** Upon each connection, perhaps to another broker, and when clients were added or stopped. @param {Overview} told */
function showOverview(told) {
  showConnection('live');
  const isSame = JSON.stringify(told.running) === JSON.stringify(overview.running);
  overview = told;
  if (isSame) return showPairs();
  outcomes.clear();
  const radios = overview.callers.map(({ id, name }, index) => {
    const radio = element('input', { type: 'radio', name: 'caller', value: id, checked: index === 0 });
    return element('label', {}, radio, name);
  });
  find('callers').replaceChildren(...radios);
  find('running').replaceChildren(...overview.running.flatMap(entry));
  find('services').replaceChildren(...overview.services.flatMap(entry));
  showPairs();
}

/** @param {Overview['running'][number]} part */
function entry({ name, url, detail }) {
  return [element('dt', {}, name), element('dd', {}, element('code', {}, url), element('small', {}, detail))];
}

/** Shows what the chosen caller may ask for, and what came of it. */
function showPairs() {
  const caller = overview.callers.find(({ id }) => id === value('caller'));
  const services = overview.services.map(({ name }) => name);
  const heads = ['Client', ...services].map((name) => element('th', { scope: 'col' }, name));
  const rows = overview.clients.map(({ name, state = '' }) => {
    const head = element('th', { scope: 'row' }, name, element('small', { className: 'refused' }, state));
    return element('tr', {}, head, ...services.map((service) => pairCell(name, service, caller)));
  });
  find('pair-heads').replaceChildren(element('tr', {}, ...heads));
  find('pairs').replaceChildren(...rows);
  find('role').textContent = caller?.role ?? '';
  find('min-ttl').hidden = value('operation') !== 'token';
}

/** @param {string} client @param {string} service @param {Overview['callers'][number] | undefined} caller */
function pairCell(client, service, caller) {
  const form = formOf(client, service);
  const button = element('button', { type: 'button', ariaLabel: `Ask for ${client} on ${service}` }, 'Ask');
  button.addEventListener('click', () => call(formOf(client, service)));
  const isAllowed = caller?.allowed.includes(`${form.operation} ${client}/${service}`);
  const outcome = outcomes.get(keyOf(form));
  const note = outcome ? mark(outcome) : isAllowed ? 'a rule allows it' : 'no rule allows it';
  return element('td', {}, button, element('small', { id: keyOf(form) }, note));
}

/** @param {CallForm} form */
async function call(form) {
  asked = form;
  say('Asking …');
  const report = /** @type {CallReport | undefined} */ (await post('/call', form));
  if (report === undefined) return;
  outcomes.set(keyOf(form), report.outcome);
  document.getElementById(keyOf(form))?.replaceChildren(mark(report.outcome));
  // A slower answer to an earlier question does not take the place of this one.
  if (form !== asked) return;
  shown = { form, report };
  find('curl').textContent = report.curl;
  find('request').textContent = report.request;
  find('report').hidden = false;
  showAnswer();
  say(mark(report.outcome), report.summary, element('span', {}, report.advice ?? ''));
  // There the answer is below what leads to it: as in page.css.
  if (matchMedia('(width < 60rem)').matches) find('answer-title').scrollIntoView();
}

/** Without its token. */
function showAnswer() {
  find('reveal').ariaPressed = 'false';
  find('answer').textContent = shown?.report.answer ?? '';
  find('token-actions').hidden = shown?.report.hidden === undefined;
}

/** Only now the token comes to the page. */
async function reveal() {
  const before = shown;
  const revealed = /** @type {RevealedAnswer | undefined} */ (await post('/reveal', { hidden: before?.report.hidden }));
  if (revealed === undefined || before !== shown) return;
  find('reveal').ariaPressed = 'true';
  find('answer').textContent = revealed.answer;
}

/** Says what went wrong instead of failing. @param {string} path @param {object} form @returns {Promise<unknown>} */
async function post(path, form) {
  const headers = { 'content-type': 'application/json' };
  try {
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(form) });
    const answer = await response.json();
    return response.ok ? answer : say(answer.message);
  } catch {
    return say('No answer: is npm start still running?');
  }
}

/** @param {string} client @param {string} service @returns {CallForm} */
function formOf(client, service) {
  const operation = value('operation') === 'check' ? 'check' : 'token';
  const seconds = operation === 'token' ? value('min_ttl') : '';
  return { caller: value('caller'), operation, client, service, min_ttl: seconds === '' ? undefined : Number(seconds) };
}

/** @param {CallForm} form */
function keyOf({ caller, operation, client, service }) {
  return [caller, operation, client, service].join('/');
}

/** @param {string} name */
function value(name) {
  return `${new FormData(ask).get(name) ?? ''}`;
}

/** @param {(Node | string)[]} words */
function say(...words) {
  find('summary').replaceChildren(...words);
}

/** @param {string} id @returns {HTMLElement} */
function find(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** @param {string} tag @param {Record<string, string | boolean>} properties @param {(Node | string)[]} children */
function element(tag, properties, ...children) {
  const created = Object.assign(document.createElement(tag), properties);
  created.append(...children);
  return created;
}
