// Vercel's AI SDK: texts, streams, objects and tools.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { CLIENT_CHECK_SERVER, CLIENT_CHECK_SCRIPTED, CLIENT_CHECK_HELLO, CLIENT_CHECK_DONE, CLIENT_CHECK_PROGRAMS } = process.env;
const installed = createRequire(`${CLIENT_CHECK_PROGRAMS}/`);
const load = (name) => import(pathToFileURL(installed.resolve(name)).href);
const { generateText, streamText, generateObject, streamObject, tool, stepCountIs } = await load("ai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { z } = await load("zod");

const scripted = CLIENT_CHECK_SCRIPTED === "1";
const tried = (what, holds, got) => {
  if (!holds) {
    console.error(`${what}: got ${JSON.stringify(got)}`.slice(0, 300));
    process.exit(1);
  }
  console.log(what);
};
// A real model may answer a result with another call, which has no text.
const answered = (what, text, expected) =>
  tried(what, scripted ? text.trim() === expected : text.trim() || expected === CLIENT_CHECK_DONE, text);

const provider = createOpenAICompatible({
  name: "local",
  baseURL: `${CLIENT_CHECK_SERVER}/v1`,
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const common = { model: provider("any"), maxRetries: 0, maxOutputTokens: 200 };

const hello = await generateText({ ...common, prompt: "Say hello." });
answered("answer", hello.text, CLIENT_CHECK_HELLO);
tried("usage", hello.usage.outputTokens > 0, hello.usage);
const stream = streamText({ ...common, prompt: "Say hello." });
answered("stream", await stream.text, CLIENT_CHECK_HELLO);
tried("usage of a stream", (await stream.usage).outputTokens > 0, await stream.usage);

const schema = z.object({ name: z.string() });
const prompt = "Describe Rome as JSON with its name.";
const isRome = (city) => (scripted ? city.name === "Rome" : city);
const { object } = await generateObject({ ...common, prompt, schema });
tried("object", isRome(object), object);
const objects = streamObject({ ...common, prompt, schema });
for await (const part of objects.partialObjectStream) part;
tried("object in a stream", isRome(await objects.object), await objects.object);

const cities = [];
const get_weather = tool({
  description: "The weather in a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    cities.push(city);
    return "sunny";
  },
});
const question = { ...common, prompt: "What is the weather in Rome?", tools: { get_weather }, stopWhen: stepCountIs(3) };
answered("call and result", (await generateText(question)).text, CLIENT_CHECK_DONE);
const streamed = streamText(question);
answered("call and result in a stream", (await streamed.text).trim(), CLIENT_CHECK_DONE);
tried("city", !scripted || cities.join() === "Rome,Rome", cities);
