/** Pages of the command line as Markdown, from what `gw manpage --json` says. */

/** Returns `{ name, text }` for gw, and for each command with those inside it. */
export function manualPages(gw) {
  return [gw, ...gw.commands].map((command) => {
    const inner = command === gw ? [] : nested(command);
    const texts = [pageText(command), ...inner.map((each) => `## ${titleOf(each)}\n\n${bodyOf(each)}`)];
    return { name: command.path[0] ?? 'index', text: texts.join('\n') };
  });
}

function nested({ commands }) {
  return commands.flatMap((command) => [command, ...nested(command)]);
}

function titleOf({ path }) {
  return ['gw', ...path].join(' ');
}

function pageText(command) {
  const text = `# ${titleOf(command)}\n\n${bodyOf(command)}`;
  if (command.commands.length === 0) return text;
  return `${text}\n## Commands\n\n${list(command.commands, (inner) => [linkTo(inner), inner.summary])}`;
}

/** A command has its page, one inside it a part of that. */
function linkTo({ path }) {
  const title = ['gw', ...path].join(' ');
  return `[${title}](${path.length === 1 ? `${path[0]}.md` : `#${title.replaceAll(' ', '-')}`})`;
}

function bodyOf({ summary, synopsis, options, arguments: values }) {
  const sentence = `${summary[0].toUpperCase()}${summary.slice(1).replace(/\.$/, '')}.`;
  const choices = list(
    values.filter((value) => value.choices),
    (value) => [`\`${value.name}\``, ...choicesOf(value)],
  );
  const flags = list(options, (option) => [`\`${flagsOf(option)}\``, option.summary, ...notesOf(option)]);
  return `${escaped(sentence)}\n\n\`\`\`sh\n${synopsis}\n\`\`\`\n\n${choices}${flags}`;
}

function flagsOf({ names, value }) {
  const suffix = value === undefined ? '' : value.isRequired ? ` ${value.name}` : ` [${value.name}]`;
  return names.join(', ') + suffix;
}

function notesOf({ value, default: fallback }) {
  return [...choicesOf(value ?? {}), ...(fallback === undefined ? [] : [`Default: ${fallback}.`])];
}

function choicesOf({ choices }) {
  return choices === undefined ? [] : [`One of: ${choices.join(', ')}.`];
}

function list(items, linesOf) {
  const texts = items.map((item) => {
    const [term, ...lines] = linesOf(item);
    return `- ${[term, ...lines.map(escaped)].join('\\\n  ')}\n`;
  });
  return texts.join('');
}

function escaped(plain) {
  return plain.replace(/[<*_[\]\\]/g, '\\$&');
}
