import { expect } from 'vitest';
import type { Answer } from './http.ts';

/** What an answer must be; absent members are not compared. */
export interface Expected {
  readonly status?: number;
  readonly body?: string | RegExp;
  readonly json?: unknown;
  /** The `Location` header. */
  readonly location?: string | RegExp;
  /** `null`: the header must be absent. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>;
}

/** Compares all at once, so that a failure shows the status together with the body that explains it. */
export function expectAnswer(line: string, answer: Answer, expected: Expected): void {
  const { status, body, json, location, headers = {} } = expected;
  const wanted: Record<string, unknown> = {};
  const actual: Record<string, unknown> = {};
  const compare = (what: string, value: unknown, is: unknown) => {
    if (value === undefined) return;
    wanted[what] = value instanceof RegExp ? expect.stringMatching(value) : value;
    actual[what] = is;
  };
  compare('status', status, answer.status);
  compare('body', body, answer.body);
  compare('json', json, json === undefined ? undefined : parsed(answer.body));
  compare('location', location, answer.headers.get('location'));
  for (const [name, value] of Object.entries(headers)) compare(name, value, answer.headers.get(name));
  expect(actual, `${line} → ${answer.status} ${answer.body.slice(0, 500)}`).toEqual(wanted);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return `not JSON: ${body}`;
  }
}
