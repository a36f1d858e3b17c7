// Writes configurations from templates and the environment, as nginx's image does: ${NAME} and $NAME are replaced by variables
// that the environment has and the filter matches; $host and its like are the configuration's. The settings are
// GW_ENVSUBST_*, or NGINX_ENVSUBST_*. Values are text: nothing of them is run.
const {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs');
const { dirname, join } = require('node:path');

const env = process.env;
const setting = (name, fallback) => env[`GW_ENVSUBST_${name}`] || env[`NGINX_ENVSUBST_${name}`] || fallback;

const templates = setting('TEMPLATE_DIR', '/etc/gw/templates');
const output = setting('OUTPUT_DIR', '/etc/gw/conf.d');
const suffix = setting('TEMPLATE_SUFFIX', '.template');
const filter = new RegExp(setting('FILTER', ''));
const isQuiet = Boolean(env.GW_ENTRYPOINT_QUIET_LOGS || env.NGINX_ENTRYPOINT_QUIET_LOGS);

function say(text) {
  if (!isQuiet) sayError(text);
}

function sayError(text) {
  process.stderr.write(`entrypoint: ${text}\n`);
}

/** gw must not start with a part of its configuration; the other templates are still filled, so that all faults are said. */
function fail(text) {
  sayError(text);
  process.exitCode = 1;
}

function fill(text) {
  return text.replace(/\$\{(\w+)\}|\$(\w+)/g, (all, braced, plain) => {
    const name = braced ?? plain;
    return Object.hasOwn(env, name) && filter.test(name) ? env[name] : all;
  });
}

/** A new file takes the place of the old one, which may be another account's. */
function replaceFile(file, text) {
  const unfinished = `${file}.${process.pid}`;
  try {
    writeFileSync(unfinished, text, { flag: 'wx' });
    renameSync(unfinished, file);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/** Returns the templates; one that cannot be read is found out when it is filled. */
function templateNames() {
  let entries;
  try {
    entries = readdirSync(templates, { recursive: true });
  } catch (error) {
    if (error.code !== 'ENOENT') fail(`the templates of ${templates} are not filled: ${error.message}`);
    return [];
  }
  return entries.filter((name) => name.endsWith(suffix) && !isDirectory(join(templates, name))).sort();
}

function isDirectory(path) {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function fillAll(names) {
  try {
    mkdirSync(output, { recursive: true });
    accessSync(output, constants.W_OK);
  } catch {
    sayError(`the templates of ${templates} are skipped: ${output} is not writable`);
    return;
  }
  for (const name of names) {
    const file = join(output, name.slice(0, -suffix.length));
    try {
      mkdirSync(dirname(file), { recursive: true });
      replaceFile(file, fill(readFileSync(join(templates, name), 'utf8')));
      say(`${join(templates, name)} is filled into ${file}`);
    } catch (error) {
      fail(`${join(templates, name)} is not filled: ${error.message}`);
    }
  }
}

const names = templateNames();
if (names.length > 0) fillAll(names);
