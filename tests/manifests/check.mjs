// check.mjs FILE… - prints, as JSON, the documents of each file and what is wrong with them: server.json by the schema
// of the MCP registry, YAML by the types of the Kubernetes API, in which a name that the API does not know is a fault.
import Ajv from "ajv";
import addFormats from "ajv-formats";
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";

const ajv = addFormats(new Ajv({ strict: false, allErrors: true }));
const schema = readFileSync(new URL("server.schema.2025-12-11.json", import.meta.url), "utf8");
const registry = ajv.compile(JSON.parse(schema));

const told = (errors) => (errors ?? []).map((e) => `${e.instancePath || "/"} ${e.message}`);

// The same value, noting every name that somebody looks at.
function watched(value, path, seen) {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get(target, name) {
      if (typeof name === "string") seen.add(`${path}/${name}`);
      return watched(target[name], `${path}/${name}`, seen);
    },
  });
}

function unseen(value, path, seen) {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const here = `${path}/${name}`;
    return seen.has(here) ? unseen(inner, here, seen) : [`${here} is unknown`];
  });
}

// The validators of kubernetes-models look at what the API knows, and pass over the rest.
async function checkKubernetes(document) {
  const api = document.apiVersion;
  const [group, version] = api.includes("/") ? api.split("/") : ["core", api];
  const capital = (word) => word[0].toUpperCase() + word.slice(1);
  const name = `IoK8sApi${capital(group.split(".")[0])}${capital(version)}${document.kind}`;
  const { validate } = await import(new URL(`node_modules/kubernetes-models/_schemas/${name}.js`, import.meta.url));
  const seen = new Set();
  validate(watched(document, "", seen));
  return [...told(validate.errors), ...unseen(document, "", seen)];
}

async function check(file) {
  const text = readFileSync(file, "utf8");
  if (file.endsWith(".json")) {
    const document = JSON.parse(text);
    registry(document);
    return [{ document, errors: told(registry.errors) }];
  }
  return Promise.all(parseAllDocuments(text, { strict: true, version: "1.1" }).map(async (parsed) => {
    const document = parsed.toJS();
    const errors = parsed.errors.map(String);
    return { document, errors: errors.length ? errors : await checkKubernetes(document) };
  }));
}

const results = {};
for (const file of process.argv.slice(2)) results[file] = await check(file);
console.log(JSON.stringify(results));
