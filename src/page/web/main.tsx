import { render } from "preact";
import { takeApiPlace } from "./api-place.js";
import { App } from "./app.js";

const place = document.getElementById("page");
if (place !== null) void takeApiPlace().then(() => render(<App />, place));
