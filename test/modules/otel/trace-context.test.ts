import { expect, test } from 'vitest';
import {
  NO_CLIENT_TRACE,
  parseTraceparent,
  readClientTrace,
} from '../../../src/modules/otel/trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b9c7c989f97918e1';

const parents: readonly { readonly it: string; readonly text: string; readonly sampled?: boolean }[] = [
  { it: 'is read', text: `00-${TRACE}-${SPAN}-01`, sampled: true },
  { it: 'without the flag is not sampled', text: `00-${TRACE}-${SPAN}-00`, sampled: false },
  {
    it: 'with flags that are not defined yet keeps the known one',
    text: `00-${TRACE}-${SPAN}-ff`,
    sampled: true,
  },
  { it: 'of a later version is read', text: `01-${TRACE}-${SPAN}-01`, sampled: true },
  { it: 'of a later version may be longer', text: `cc-${TRACE}-${SPAN}-00-what-the-future`, sampled: false },
  { it: 'of a later version that goes on without a dash is none', text: `cc-${TRACE}-${SPAN}-01.extra` },
  { it: 'of version 00 that is too long is none', text: `00-${TRACE}-${SPAN}-01-extra` },
  { it: 'that ends in a dash is none', text: `00-${TRACE}-${SPAN}-01-` },
  { it: 'of version ff is none', text: `ff-${TRACE}-${SPAN}-01` },
  { it: 'with capitals is none', text: `00-${TRACE.toUpperCase()}-${SPAN}-01` },
  { it: 'with a trace of zeros is none', text: `00-${'0'.repeat(32)}-${SPAN}-01` },
  { it: 'with a span of zeros is none', text: `00-${TRACE}-${'0'.repeat(16)}-01` },
  { it: 'that is not hexadecimal is none', text: `00-${TRACE.replace('a', 'g')}-${SPAN}-01` },
  { it: 'with flags of one digit is none', text: `00-${TRACE}-${SPAN}-1` },
  { it: 'with too short a trace is none', text: `00-${TRACE.slice(1)}-${SPAN}-01` },
  { it: 'that is empty is none', text: '' },
];

for (const { it, text, sampled } of parents) {
  test(`a traceparent ${it}`, () => {
    const read =
      sampled === undefined ? undefined : { traceId: TRACE, parentId: SPAN, parentSampled: sampled };
    expect(parseTraceparent(text)).toEqual(read);
  });
}

const GOOD = ['traceparent', `00-${TRACE}-${SPAN}-01`] as const;
const state = (value: string): readonly string[] => ['tracestate', value];
const lists: readonly {
  readonly it: string;
  readonly headers: readonly string[];
  readonly state?: string;
}[] = [
  {
    it: 'is kept beside a traceparent',
    headers: [...GOOD, ...state('congo=t61, rojo=00f0')],
    state: 'congo=t61, rojo=00f0',
  },
  { it: 'may come first', headers: [...state('a=1'), ...GOOD], state: 'a=1' },
  {
    it: 'of several lines is one list',
    headers: [...GOOD, ...state('a=1'), ...state('b=2')],
    state: 'a=1,b=2',
  },
  { it: 'of 512 bytes is kept', headers: [...GOOD, ...state('x'.repeat(512))], state: 'x'.repeat(512) },
  { it: 'of 513 bytes is dropped', headers: [...GOOD, ...state('x'.repeat(513))], state: '' },
  { it: 'is counted in bytes', headers: [...GOOD, ...state('é'.repeat(257))], state: '' },
  { it: 'without a traceparent is dropped', headers: state('a=1') },
  { it: 'beside a bad traceparent is dropped', headers: ['traceparent', 'x', ...state('a=1')] },
  { it: 'beside two traceparent lines is dropped', headers: [...GOOD, ...GOOD, ...state('a=1')] },
];

for (const { it, headers, state: kept } of lists) {
  test(`a tracestate ${it}`, () => {
    const caller = { traceId: TRACE, parentId: SPAN, parentSampled: true };
    expect(readClientTrace(headers)).toEqual(
      kept === undefined ? NO_CLIENT_TRACE : { ...caller, state: kept },
    );
  });
}
