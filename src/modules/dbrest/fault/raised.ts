import { isObject } from '../json.ts';
import { DbrestFault } from './dbrest-fault.ts';
import type { FaultShape } from './dbrest-fault.ts';
import type { ServerError } from './sqlstate.ts';

const MESSAGE_HINT =
  "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'.";
const DETAIL_HINT =
  "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and optional key: 'status_text'.";

/** `raise sqlstate 'PGRST'`: the answer is what MESSAGE and DETAIL say, or PGRST121. */
export function raisedFault({ message, detail }: ServerError): DbrestFault {
  const body = readMessage(message);
  if (!body) return unparsableRaise(`Invalid JSON value for MESSAGE: '${message}'`, MESSAGE_HINT);
  if (detail === undefined) return unparsableRaise('DETAIL is missing in the RAISE statement', DETAIL_HINT);
  const head = readDetail(detail);
  if (!head) return unparsableRaise(`Invalid JSON value for DETAIL: '${detail}'`, DETAIL_HINT);
  return new DbrestFault({ ...body, ...head });
}

function readMessage(json: string) {
  const value = parse(json);
  if (!isObject(value)) return undefined;
  const { code, message, details, hint } = value;
  const valid = isText(code) && isText(message) && isOptionalText(details) && isOptionalText(hint);
  return valid ? { code, message, details: details ?? null, hint: hint ?? null } : undefined;
}

function readDetail(json: string): Pick<FaultShape, 'status' | 'reason' | 'headers'> | undefined {
  const value = parse(json);
  if (!isObject(value)) return undefined;
  const { status, status_text: reason, headers } = value;
  // 1xx would not be an answer, and HTTP has no room for more than three digits.
  const known = typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599;
  if (!known || !isObject(headers) || !isOptionalText(reason)) return undefined;
  const pairs = Object.entries(headers);
  if (!pairs.every(([, text]) => isText(text))) return undefined;
  return { status, reason: reason ?? undefined, headers: pairs.flat() as string[] };
}

function unparsableRaise(details: string, hint: string): DbrestFault {
  const message = `Could not parse JSON in the "RAISE SQLSTATE 'PGRST'" error`;
  return new DbrestFault({ code: 'PGRST121', status: 500, message, details, hint });
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isOptionalText(value: unknown): value is string | null | undefined {
  return value === undefined || value === null || typeof value === 'string';
}
