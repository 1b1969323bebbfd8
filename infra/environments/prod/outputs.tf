output "platform" {
  description = "What an operator and a caller need to know of this environment."
  value       = module.platform
}
