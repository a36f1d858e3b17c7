import { compileRegex, HttpFault } from '../http/index.ts';
import type { ResponseHead } from '../client/index.ts';
import type { MatchRule } from './plan.ts';

/** The response to a probe. */
interface ProbeResponse {
  readonly head: ResponseHead;
  /** Its first bytes, one character per byte. */
  readonly body: string;
  readonly spentMs: number;
}

/** Returns the reason why a response does not match; `undefined` if it does. */
export type Match = (response: ProbeResponse) => string | undefined;

/** Tells whether the rules look at the body. */
export function readsBody(rules: readonly MatchRule[]): boolean {
  return rules.some(({ kind }) => kind === 'body like' || kind === 'body has');
}

/** Compiles the rules of a `match` block. */
export function compileMatch(rules: readonly MatchRule[]): Match {
  const tests = rules.map(compileRule);
  return (response) => {
    try {
      for (const test of tests) {
        const fault = test(response);
        if (fault !== undefined) return fault;
      }
    } catch (error) {
      if (error instanceof HttpFault) return error.message;
      throw error;
    }
    return undefined;
  };
}

function compileRule(rule: MatchRule): Match {
  switch (rule.kind) {
    case 'status':
      return ({ head: { status } }) =>
        rule.ranges.some(([from, to]) => status >= from && status <= to) === rule.not
          ? `the status is ${status}`
          : undefined;
    case 'has header':
      return ({ head }) =>
        valuesOf(head, rule.name).length > 0 === rule.not
          ? `the header "${rule.name}" is ${rule.not ? 'present' : 'missing'}`
          : undefined;
    case 'header is':
      return ({ head }) =>
        valuesOf(head, rule.name).includes(rule.value) === rule.not ? headerFault(rule.name) : undefined;
    case 'header like': {
      const regex = compileRegex(rule.regex);
      return ({ head }) =>
        valuesOf(head, rule.name).some((value) => regex.test(value)) === rule.not
          ? headerFault(rule.name)
          : undefined;
    }
    case 'body like': {
      const regex = compileRegex(rule.regex);
      return ({ body }) => (regex.test(body) === rule.not ? BODY_FAULT : undefined);
    }
    case 'body has': {
      const bytes = Buffer.from(rule.text).toString('latin1');
      return ({ body }) => (body.includes(bytes) ? undefined : BODY_FAULT);
    }
    case 'require': {
      const values = rule.variables.map((name) => ({ name, read: responseVariable(name) }));
      return (response) => {
        const empty = values.find(({ read }) => ['', '0'].includes(read?.(response) ?? ''));
        return empty && `$${empty.name} is empty or 0`;
      };
    }
  }
}

const BODY_FAULT = 'the body does not match';

function headerFault(name: string): string {
  return `the header "${name}" does not match`;
}

function valuesOf({ headers }: ResponseHead, name: string): string[] {
  const lowerCase = name.toLowerCase();
  return headers.filter((_, index) => index % 2 === 1 && headers[index - 1]?.toLowerCase() === lowerCase);
}

const HEADER_VARIABLE = /^(?:upstream|sent)_http_(\w+)$/;

/**
 * Returns the function that reads a variable from the response to a probe; `undefined` if the variable needs the
 * request of a client.
 */
export function responseVariable(name: string): ((response: ProbeResponse) => string) | undefined {
  const header = HEADER_VARIABLE.exec(name)?.[1]?.replaceAll('_', '-');
  if (header !== undefined) return ({ head }) => valuesOf(head, header).join(', ');
  switch (name) {
    case 'status':
    case 'upstream_status':
      return ({ head }) => String(head.status);
    case 'upstream_response_length':
      return ({ body }) => String(body.length);
    case 'upstream_response_time':
    case 'upstream_header_time':
      return ({ spentMs }) => (spentMs / 1000).toFixed(3);
    default:
      return undefined;
  }
}
