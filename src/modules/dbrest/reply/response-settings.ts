import { malformedResponseHeaders, malformedResponseStatus } from '../fault/index.ts';
import { isObject } from '../json.ts';

/** What the database decided about an answer: `response.headers` and `response.status`. */
export interface ResponseSettings {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly status?: number;
}

/** The two settings as they were left, '' or null when nothing was set. Throws PGRST111 and PGRST112. */
export function responseSettings(headers: string | null, status: string | null): ResponseSettings {
  return {
    headers: headers ? readHeaders(headers) : [],
    ...(status && { status: readStatus(status) }),
  };
}

function readHeaders(json: string): [name: string, value: string][] {
  const list = parse(json);
  if (!Array.isArray(list)) throw malformedResponseHeaders();
  return list.map((item: unknown) => {
    const [pair, ...others] = isObject(item) ? Object.entries(item) : [];
    if (!pair || others.length > 0 || typeof pair[1] !== 'string') throw malformedResponseHeaders();
    return [pair[0], pair[1]];
  });
}

/** Not 1xx, which would not be the answer, and nothing that HTTP has no room for. */
function readStatus(text: string): number {
  if (!/^[2-5]\d\d$/.test(text)) throw malformedResponseStatus();
  return Number(text);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
