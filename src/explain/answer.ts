import type { Fact } from '../contract/index.ts';
import { statusLine } from '../http/index.ts';
import { locationText } from '../plan/index.ts';
import type { AccountAnswer } from './account.ts';
import type { Telling } from './assemble.ts';
import type { TracedAnswer, TraceStep } from './trace.ts';
import type { Tracer } from './tracer.ts';
import { placeText } from './words.ts';

/** Longest piece of a body that is shown. */
const MOST_BODY = 400;
/** Pages of gw's own and of people are not text to read here. */
const SHOWN_TYPE = /^(?:text\/plain|application\/json|)(?:;|$)/;

/** How it ended. */
export function answerOf(tracer: Tracer, telling: Telling): AccountAnswer {
  const steps = tracer.rounds.flatMap((round) => round.steps);
  const last = steps.findLast(({ kind }) => kind === 'answer' || kind === 'closed' || kind === 'phase');
  if (last?.kind === 'answer') return sent(last, { steps, tracer, telling });
  if (last?.kind === 'closed')
    return {
      status: last.status,
      does: 'closes the connection without an answer',
      place: placeOfAnswer(steps),
      facts: [],
    };
  if (last?.kind === 'phase' && last.deed) return told(last.deed, telling);
  return { does: 'does not come to an end', place: '', facts: [] };
}

/** The same in a line, with where it happens. */
export function summaryOf(tracer: Tracer, telling: Telling): string {
  const { status, does } = answerOf(tracer, telling);
  const plan = tracer.rounds
    .flatMap(({ steps }) => steps)
    .findLast((step) => step.kind === 'enter' && telling.places.of(step.plan)?.role !== 'block');
  const match = plan?.kind === 'enter' ? plan.plan.match : undefined;
  const where = match ? ` in location ${locationText(match)}` : '';
  return `${status === undefined ? '' : `${statusLine(status)}: `}${does}${where}`;
}

function told(
  { does, facts = [], unknown }: NonNullable<Extract<TraceStep, { kind: 'phase' }>['deed']>,
  { wording }: Telling,
): AccountAnswer {
  return {
    does: wording.masked(does),
    place: '',
    facts: facts.map(({ label, value }) => ({ label, value: wording.masked(value) })),
    ...(unknown !== undefined && { unknown }),
  };
}

interface Context {
  readonly steps: readonly TraceStep[];
  readonly tracer: Tracer;
  readonly telling: Telling;
}

function sent(answer: TracedAnswer, { steps, tracer, telling: { wording } }: Context): AccountAnswer {
  const { status, contentType, headers } = answer;
  const facts: Fact[] = [];
  if (contentType !== '') facts.push({ label: 'type', value: contentType });
  if (answer.lengthBytes !== undefined && answer.lengthBytes >= 0)
    facts.push({ label: 'length', value: `${answer.lengthBytes} bytes` });
  for (let index = 0; index < headers.length; index += 2)
    facts.push({ label: 'header', value: wording.masked(`${headers[index]}: ${headers[index + 1]}`) });
  const body = bodyText(answer);
  if (body !== undefined) facts.push({ label: 'body', value: wording.masked(body) });
  return { status, does: doesOf(answer, tracer), place: placeOfAnswer(steps), facts };
}

function doesOf({ status, headers, body }: TracedAnswer, { refusal }: Tracer): string {
  if (refusal !== undefined) return refusal;
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'location');
  if (at >= 0 && status >= 300 && status < 400) return `redirects to ${headers[at + 1] ?? ''}`;
  if (status >= 400) return 'answers an error';
  return body === undefined ? 'sends a file' : 'answers';
}

function bodyText({ body, contentType, status }: TracedAnswer): string | undefined {
  if (body === undefined || !SHOWN_TYPE.test(contentType) || body.length === 0 || status >= 600)
    return undefined;
  const text = typeof body === 'string' ? body : Buffer.from(body).toString();
  return text.length > MOST_BODY ? `${text.slice(0, MOST_BODY)}…` : text;
}

/** The directive that answered, where one of the rewrite phase did. */
function placeOfAnswer(steps: readonly TraceStep[]): string {
  const at = steps.findLastIndex(({ kind }) => kind === 'answer' || kind === 'closed');
  const before = steps.slice(0, at).findLast(({ kind }) => kind !== 'log' && kind !== 'end');
  return before?.kind === 'directive' ? placeText(before.node.name.span) : '';
}
