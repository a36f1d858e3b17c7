import type { Build } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { isObject, parseJson } from '../../json.ts';
import { type FileContent, readParsed, WatchedFiles } from '../../system/index.ts';
import { claimText, memberAt, type VerifiedToken } from '../../tokens/index.ts';
import type { Comparison, NginzFields } from './nginz-directives.ts';

/** A demand on a token: says what is wrong with it. */
type Demand = (x: Exchange, token: VerifiedToken) => string | undefined;

/** Compiles what nginz's directives demand of tokens; `undefined`: nothing. */
export function compileComparisons(
  { comparisons = [], revocations = [] }: NginzFields,
  lists: RevocationLists,
  build: Build,
): Demand | undefined {
  const demands = [
    ...comparisons.map((comparison) => compileComparison(comparison, build)),
    ...revocations.map(({ of, path }): Demand => {
      return (_x, { header, claims }) => {
        const id = claimText(memberAt((of === 'sub' ? claims : header).exact, [of]));
        const listed = lists.content(path, 0, Date.now());
        if ('fault' in listed) return listed.fault;
        if (of === 'kid' && id === undefined) return 'it does not name its key';
        return id !== undefined && listed.value.has(id) ? `its "${of}" is revoked` : undefined;
      };
    }),
  ];
  if (demands.length === 0) return undefined;
  return (x, token) => {
    for (const demand of demands) {
      const fault = demand(x, token);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
}

function compileComparison({ of, path, operator, value }: Comparison, build: Build): Demand {
  const valueOf = build.value(value);
  const name = path.join('.');
  const fault = `its ${of === 'claims' ? 'claim' : 'parameter'} "${name}" is not as demanded`;
  return (x, token) => {
    const found = memberAt(token[of].exact, path);
    const expected = valueOf(x);
    const given = name === 'aud' && Array.isArray(found) ? found.find((one) => one === expected) : found;
    return holds(claimText(given), operator, expected) ? undefined : fault;
  };
}

/** Texts are compared as they are, for an order as numbers. What is absent is not equal to anything. */
function holds(text: string | undefined, operator: Comparison['operator'], expected: string): boolean {
  if (operator === 'eq') return text === expected;
  if (operator === '!eq') return text !== expected;
  if (text === undefined || text.trim() === '' || expected.trim() === '') return false;
  const [one, other] = [Number(text), Number(expected)];
  if (operator === 'gt') return one > other;
  if (operator === 'ge') return one >= other;
  return operator === 'lt' ? one < other : one <= other;
}

/** The revocation lists of one worker. */
export type RevocationLists = WatchedFiles<ReadonlySet<string>>;

const FORM = { parse: parseList, what: 'revoked names', mostBytes: 4_194_304 };

/** Opens the revocation lists of one worker. */
export function openRevocationLists(tell: (fault: string) => void): RevocationLists {
  return new WatchedFiles({ ...FORM, tell });
}

/** Reads a revocation list: names of members, and texts in an object or a list. */
export function readRevocationList(path: string): FileContent<ReadonlySet<string>> {
  return readParsed(path, FORM);
}

function parseList(text: string): FileContent<ReadonlySet<string>> {
  const json = parseJson(text);
  if (!isObject(json) && !Array.isArray(json)) return { fault: 'neither an object nor a list' };
  const names = Array.isArray(json) ? [] : Object.keys(json);
  const values = Object.values(json).flatMap((value: unknown) =>
    typeof value === 'string' || typeof value === 'number' ? String(value) : [],
  );
  return { value: new Set([...names, ...values]) };
}
