import { expect } from 'vitest';
import type { ReceivedResponse } from './http.ts';

/** The expected parts of a response; absent members are not compared. */
export interface Expected {
  readonly status?: number;
  readonly body?: string | RegExp;
  readonly json?: unknown;
  /** The `Location` header. */
  readonly location?: string | RegExp;
  /** `null`: the header must be absent. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>;
}

/** Compares all parts at once, so that a failure shows the status with the body, which often explains it. */
export function expectResponse(line: string, response: ReceivedResponse, expected: Expected): void {
  const { status, body, json, location, headers = {} } = expected;
  const wanted: Record<string, unknown> = {};
  const actual: Record<string, unknown> = {};
  const compare = (what: string, value: unknown, is: unknown) => {
    if (value === undefined) return;
    wanted[what] = value instanceof RegExp ? expect.stringMatching(value) : value;
    actual[what] = is;
  };
  compare('status', status, response.status);
  compare('body', body, response.body);
  compare('json', json, json === undefined ? undefined : parsed(response.body));
  compare('location', location, response.headers.get('location'));
  for (const [name, value] of Object.entries(headers)) compare(name, value, response.headers.get(name));
  expect(actual, `${line} → ${response.status} ${response.body.slice(0, 500)}`).toEqual(wanted);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return `not JSON: ${body}`;
  }
}
