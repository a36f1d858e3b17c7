import { type ArgReader, type ComplexValue, constantText, directivesFor, readers } from '../config/index.ts';
import { type Build, moduleFor } from '../contract/index.ts';
import { type Exchange, type HeaderFilter, logContext } from '../http/index.ts';

/** The limits of the response rate in one location. */
interface LimitRateConfig {
  readonly rate?: ComplexValue;
  readonly after?: ComplexValue;
}

const CONTEXTS = ['http', 'server', 'location', 'location if'] as const;

/** A size that may contain variables (nginx: ngx_http_set_complex_value_size_slot). */
const sizeValue: ArgReader<ComplexValue> = readers.oneWord('size', (word, scope) => {
  const value = scope.complexValue(word);
  const text = constantText(value);
  if (text === undefined || readers.parseSize(text) !== undefined) return value;
  scope.report.emerg(
    `"${scope.directive}" directive invalid value`,
    word.span,
    'expected a size such as 512k',
  );
  return undefined;
});

const directives = directivesFor<LimitRateConfig>()({
  limit_rate: {
    contexts: CONTEXTS,
    args: sizeValue,
    into: 'rate',
    defaultText: '0',
    summary: 'Maximum rate of a response in bytes per second; 0: no limit.',
    source: 'nginx ngx_http_core_module#limit_rate',
  },
  limit_rate_after: {
    contexts: CONTEXTS,
    args: sizeValue,
    into: 'after',
    defaultText: '0',
    summary: 'Bytes of a response that are sent before its rate is limited.',
    source: 'nginx ngx_http_core_module#limit_rate_after',
  },
});

/** Limits of the rate at which responses are sent. */
export const limitRate = moduleFor<LimitRateConfig>()({
  name: 'limit_rate',
  summary: 'Limits of the speed of responses.',
  directives,
  enabled: ({ rate, after }) => rate !== undefined || after !== undefined,
  compile: ({ rate, after }, _resources, build) => ({
    filter: compileFilter(rate && compileSize(rate, build), after && compileSize(after, build)),
  }),
});

type Size = (x: Exchange) => number;

/** Sets the rate, unless `set $limit_rate` or an upstream has set it. */
function compileFilter(rate: Size | undefined, after: Size | undefined): HeaderFilter {
  return (x) => {
    if (x.main !== x) return;
    const told = x.response.rate;
    if (rate && told?.bytesPerSecond === undefined) x.response.changeRate({ bytesPerSecond: rate(x) });
    if (after && (told?.afterBytes ?? 0) === 0) x.response.changeRate({ afterBytes: after(x) });
  };
}

function compileSize(value: ComplexValue, build: Build): Size {
  const fixed = constantText(value);
  if (fixed !== undefined) {
    const bytes = readers.parseSize(fixed) ?? 0;
    return () => bytes;
  }
  const render = build.value(value);
  return (x) => {
    const text = render(x);
    if (text === '') return 0;
    const bytes = readers.parseSize(text);
    if (bytes === undefined) build.log.write('error', `invalid size "${text}"`, logContext(x));
    return bytes ?? 0;
  };
}
